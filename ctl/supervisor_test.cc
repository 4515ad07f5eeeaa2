#include "ctl/supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace splitlet::ctl {
namespace {

namespace stdfs = std::filesystem;

/// A folder that is the working directory, as --state-dir makes it.
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
  const auto systemd = FindSupervisor(layout_, dir_ + "/systemctl");
  EXPECT_EQ(systemd->Name(), "systemd");
  EXPECT_EQ(systemd->PidOf("pleg").value_or(0), 4711);
  EXPECT_TRUE(systemd->Restart("pleg").ok());
  const Status refused = systemd->TakeDown("gc");
  EXPECT_NE(Message(refused).find("stop: no such thing"), std::string::npos) << refused;
  std::ifstream calls("calls");
  const std::string all{std::istreambuf_iterator<char>(calls), {}};
  EXPECT_NE(all.find("restart splitlet-pleg.service\nstop splitlet-gc.service\n"),
            std::string::npos)
      << all;
}

TEST_F(SupervisorTest, WithoutOneOnlySignalsWork) {
  layout_.run_dir = "run";
  const auto none = FindSupervisor(layout_);
  EXPECT_EQ(none->PidOf("pleg").value_or(-1), 0);
  EXPECT_EQ(none->TakeDown("pleg").code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Message(none->Restart("pleg")), "pleg does not run");
}

}  // namespace
}  // namespace splitlet::ctl
