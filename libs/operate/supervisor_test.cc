#include "libs/operate/supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "libs/base/log.h"
#include "libs/operate/client.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::operate {
namespace {

namespace stdfs = std::filesystem;

/// A folder that becomes the working directory, as with --state-dir.
class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (stdfs::temp_directory_path() / "ctl-sv-XXXXXX").string();
    dir_ = mkdtemp(name.data());
    before_ = stdfs::current_path();
    stdfs::current_path(dir_);
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    stdfs::current_path(before_);
    std::error_code error;
    stdfs::remove_all(dir_, error);
  }
  static void Write(const std::string& path, const std::string& text) {
    stdfs::create_directories(stdfs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  pid_t Child() {
    child_ = fork();
    if (child_ == 0) {
      pause();
      _exit(0);
    }
    return child_;
  }

  std::string dir_;
  stdfs::path before_;
  pid_t child_ = 0;
  Layout layout_{.top = "here"};
};

TEST_F(SupervisorTest, RunitSignalsTheProcessAndTellsWhatIsNotThere) {
  const pid_t pid = Child();
  Write("sv/pleg/supervise/pid", fmt::format("{}\n", pid));
  Write("sv/gc/supervise/pid", "");
  const auto runit = FindSupervisor(layout_);
  EXPECT_EQ(runit->Name(), "runit");
  EXPECT_EQ(runit->PidOf("pleg").value_or(-1), pid);
  EXPECT_EQ(runit->PidOf("gc").value_or(-1), 0);
  EXPECT_EQ(runit->Signal("pleg", SIGSTOP).value_or(-1), pid);
  waitpid(pid, nullptr, WUNTRACED);
  EXPECT_TRUE(IsStopped(pid));
  EXPECT_TRUE(runit->Signal("pleg", SIGCONT).ok());
  EXPECT_EQ(Message(runit->Signal("gc", SIGKILL).status()), "gc does not run");
  EXPECT_EQ(runit->Signal("nobody", SIGKILL).status().code(), StatusCode::kNotFound);
}

TEST_F(SupervisorTest, RunitWantsAServiceUntilItIsTakenDown) {
  Write("sv/pleg/supervise/status", std::string(17, '\0') + std::string("u\0\0", 3));
  const auto found = FindSupervisor(layout_);
  EXPECT_TRUE(found->IsWanted("pleg"));
  EXPECT_FALSE(found->IsWanted("gc"));
  Write("sv/pleg/supervise/status", std::string(17, '\0') + std::string("d\0\0", 3));
  EXPECT_FALSE(found->IsWanted("pleg"));
}

TEST_F(SupervisorTest, ACallWaitsForAProcessThatIsBeingStarted) {
  layout_.run_dir = "run";
  Write("sv/pleg/supervise/status", std::string(17, '\0') + std::string("u\0\0", 3));
  Write("sv/gc/supervise/status", std::string(17, '\0') + std::string("d\0\0", 3));
  const RealClock clock;
  const Client client(layout_, clock, 1min);
  EXPECT_EQ(client.ListFaults("gc").status().code(), StatusCode::kUnavailable) << "taken down";
  EXPECT_EQ(client.Ask("pleg").info, nullptr) << "a client gets the present state only";
  EXPECT_EQ(Client(layout_, clock).ListFaults("pleg").status().code(), StatusCode::kUnavailable);
  stdfs::create_directories("run");
  FakeLogSink sink;
  v1::Admin::Service admin;
  std::unique_ptr<rpc::Server> pleg;
  std::jthread supervisor([&] {
    auto started = rpc::StartServer(
        {.socket_path = rpc::SocketPath("run", "pleg"), .services = {&admin}}, Log(sink));
    if (started.ok()) pleg = *std::move(started);
  });
  const Status answer = client.ListFaults("pleg").status();
  supervisor.join();
  EXPECT_EQ(answer.code(), StatusCode::kUnimplemented)
      << "it answers, whatever it says: " << answer;
}

TEST_F(SupervisorTest, RunitThatDoesNotRunIsToldFromOneThatDoes) {
  Write("sv/pleg/supervise/stat", "run\n");
  const auto runit = FindSupervisor(layout_);
  const Status down = runit->TakeDown("pleg");
  EXPECT_EQ(down.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(down).find("runit does not run"), std::string::npos) << down;
}

TEST_F(SupervisorTest, RunitIsToldByItsPipe) {
  Write("sv/pleg/supervise/stat", "down\n");
  ASSERT_EQ(mkfifo("sv/pleg/supervise/control", 0600), 0);
  const int reader = open("sv/pleg/supervise/control", O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(FindSupervisor(layout_)->TakeDown("pleg").ok());
  char bytes[8] = {};
  EXPECT_EQ(read(reader, bytes, sizeof(bytes)), 2);
  EXPECT_STREQ(bytes, "dc");
  close(reader);
}

TEST_F(SupervisorTest, SystemdIsAskedByUnits) {
  Write("./systemctl",
        "#!/bin/sh\necho \"$@\" >> calls\ncase $1 in show) echo loaded; echo 4711 ;; "
        "stop) echo no such thing; exit 5 ;; esac\n");
  chmod("systemctl", 0755);
  layout_.top.clear();
  const auto systemd = FindSupervisor(layout_, {.systemctl = dir_ + "/systemctl"});
  EXPECT_EQ(systemd->Name(), "systemd");
  EXPECT_EQ(systemd->PidOf("pleg").value_or(0), 4711);
  EXPECT_TRUE(systemd->Restart("pleg").ok());
  const Status refused = systemd->TakeDown("gc");
  EXPECT_EQ(Message(refused).find("stop: "), 0u) << refused;
  EXPECT_NE(Message(refused).find(": no such thing"), std::string::npos) << refused;
  std::ifstream calls("calls");
  const std::string all{std::istreambuf_iterator<char>(calls), {}};
  EXPECT_NE(all.find("restart splitlet-pleg.service\nstop splitlet-gc.service\n"),
            std::string::npos)
      << all;
}

/// A fake docker with the containers that the file `containers` lists (as `ps` would), and the
/// processes that `top.<id>` lists; `calls` records its commands.
class ComposeTest : public SupervisorTest {
 protected:
  void SetUp() override {
    SupervisorTest::SetUp();
    layout_.compose = true;
    Write("./docker",
          "#!/bin/sh\ncd " + dir_ +
              "\n"
              "case $1 in\n"
              "ps) for a; do case $a in label=*.service=*) grep \"^${a##*=}-\" containers; esac; "
              "done ;;\n"
              "top) echo '    PID COMMAND'; echo '      1 docker-init'; cat \"top.$2\" ;;\n"
              "*) echo \"$@\" >> calls; test ! -e after || mv after \"top.$2\" ;;\n"
              "esac\ntrue\n");
    chmod("docker", 0755);
    stdfs::create_directories(".run");
    stdfs::create_symlink(dir_, dir_ + "/alias");
    stdfs::current_path(dir_ + "/.run");
  }
  std::unique_ptr<Supervisor> Find() {
    return FindSupervisor(layout_, {.docker = dir_ + "/docker"});
  }
  std::string Calls() const {
    std::ifstream calls(dir_ + "/calls");
    return {std::istreambuf_iterator<char>(calls), {}};
  }
  void Containers(const std::string& lines) { Write(dir_ + "/containers", lines); }
  void Top(const std::string& id, const std::string& lines) { Write(dir_ + "/top." + id, lines); }
};

TEST_F(ComposeTest, ASignalGoesToTheProcessOfTheContainerInThisFolder) {
  const pid_t pid = Child();
  Containers("pleg-other\tUp 2 minutes (healthy)\t/tmp\npleg-mine\tUp 2 minutes\t" + dir_ +
             "/alias\n");
  Top("pleg-other", "1 splitlet-pleg\n");
  Top("pleg-mine", fmt::format("7 start.sh\n{} splitlet-pleg\n", pid));
  const auto compose = Find();
  EXPECT_EQ(compose->Name(), "docker compose");
  EXPECT_EQ(compose->PidOf("pleg").value_or(-1), pid);
  EXPECT_EQ(compose->Signal("pleg", SIGSTOP).value_or(-1), pid);
  waitpid(pid, nullptr, WUNTRACED);
  EXPECT_TRUE(IsStopped(pid));
  EXPECT_EQ(Calls(), "") << "docker got a command, and would not start it again";
}

TEST_F(ComposeTest, ProgramsAreKnownByWhatTheKernelKeepsOfTheirNames) {
  Containers("config-source-a\tUp 1 second\t" + dir_ + "\nruntime-b\tUp 1 second\t" + dir_ +
             "\nnats-c\tUp 1 second\t" + dir_ + "\ngc-d\tExited (0) 1 second ago\t" + dir_ + "\n");
  Top("config-source-a", "41 splitlet-config\n");
  Top("runtime-b", "42 containerd-shim\n43 containerd\n");
  Top("nats-c", "44 nats-server\n");
  Top("gc-d", "45 splitlet-gc\n");
  const auto compose = Find();
  EXPECT_EQ(compose->PidOf("config-source").value_or(-1), 41);
  EXPECT_EQ(compose->PidOf("containerd").value_or(-1), 43);
  EXPECT_EQ(compose->PidOf("nats").value_or(-1), 44);
  EXPECT_EQ(compose->PidOf("gc").value_or(-1), 0);
  EXPECT_EQ(Message(compose->Signal("gc", SIGKILL).status()), "gc does not run");
}

TEST_F(ComposeTest, DownUpAndRestartAreTheContainers) {
  Containers("gc-a\tUp 1 second\t" + dir_ + "\n");
  Top("gc-a", fmt::format("{} splitlet-gc\n", Child()));
  const auto compose = Find();
  EXPECT_TRUE(compose->TakeDown("gc").ok());
  EXPECT_TRUE(compose->BringUp("gc").ok());
  Write(dir_ + "/after", "46 splitlet-gc\n");
  EXPECT_TRUE(compose->Restart("gc").ok());
  EXPECT_EQ(compose->PidOf("gc").value_or(-1), 46);
  EXPECT_EQ(Calls(), "stop gc-a\nstart gc-a\nrestart gc-a\n");
}

TEST_F(ComposeTest, TheContainerOfTheRuntimeIsNotTakenDown) {
  Containers("runtime-a\tUp 1 second\t" + dir_ + "\n");
  Top("runtime-a", "43 containerd\n");
  EXPECT_EQ(Find()->TakeDown("containerd").code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Calls(), "");
}

TEST_F(ComposeTest, TheStackIsKnownByTheFileBesideIt) {
  Write(dir_ + "/docker-compose.yml", "");
  Write(dir_ + "/.run/nats/port", "10270\n");
  EXPECT_EQ(FindLayout(dir_ + "/.run").status().code(), StatusCode::kNotFound);
  stdfs::create_directories(dir_ + "/.run/run");
  const auto layout = FindLayout(dir_ + "/.run");
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_TRUE(layout->compose);
  EXPECT_EQ(layout->bus.network_of, "run") << "the bus is in the network of the containers";
  stdfs::create_directories(dir_ + "/.run/sv");
  const auto local = FindLayout(dir_ + "/.run");
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_FALSE(local->compose);
  EXPECT_EQ(local->bus.network_of, "");
}

TEST_F(SupervisorTest, AStackThatWasStoppedIsFoundByWhatItLeaves) {
  stdfs::create_directories(dir_ + "/stack/other");
  EXPECT_EQ(FindLayout(dir_ + "/stack").status().code(), StatusCode::kNotFound);
  stdfs::create_directories(dir_ + "/stack/log/pleg");
  const auto stopped = FindLayout(dir_ + "/stack");
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_TRUE(stopped->stopped);
  EXPECT_FALSE(IsUp(*stopped)) << "no process is to be awaited";
  EXPECT_EQ(stopped->process_logs, "log");
  const RealClock clock;
  EXPECT_EQ(Client(*stopped, clock).CheckRuns("pleg"),
            Unavailable("the stack in {}/stack is stopped (make run starts it)", dir_));
  stdfs::create_directories(dir_ + "/stack/run");
  stdfs::create_directories(dir_ + "/stack/sv");
  const auto runs = FindLayout(dir_ + "/stack");
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_FALSE(runs->stopped);
  EXPECT_TRUE(IsUp(*runs));
  stdfs::remove_all(dir_ + "/stack/sv");
  EXPECT_FALSE(IsUp(*runs)) << "stopped after it was found";
  EXPECT_TRUE(IsUp({})) << "that of the packages";
}

TEST_F(ComposeTest, AStackThatIsNotUpSaysWhatToDo) {
  Containers("pleg-other\tUp 2 minutes\t/tmp\n");
  const Status none = Find()->Restart("pleg");
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(none).find("no container pleg of the stack in " + dir_), std::string::npos)
      << none;
  Write(dir_ + "/docker", "#!/bin/sh\necho dial unix: connect: permission denied\nexit 1\n");
  EXPECT_EQ(Find()->TakeDown("pleg").code(), StatusCode::kPermissionDenied);
  const auto absent = FindSupervisor(layout_, {.docker = dir_ + "/nothing"});
  EXPECT_NE(Message(absent->PidOf("pleg").status()).find("/nothing"), std::string::npos);
}

TEST_F(SupervisorTest, WithoutOneOnlySignalsWork) {
  layout_.run_dir = "run";
  const auto none = FindSupervisor(layout_);
  EXPECT_EQ(none->PidOf("pleg").value_or(-1), 0);
  EXPECT_EQ(none->TakeDown("pleg").code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Message(none->Restart("pleg")), "pleg does not run");
}

}  // namespace
}  // namespace splitlet::operate
