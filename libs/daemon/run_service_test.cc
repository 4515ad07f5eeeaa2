#include <fcntl.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include "libs/base/log.h"
#include "libs/rpc/rpc.h"
#include "libs/rpc/server.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::daemon {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Until(const std::function<bool()>& condition) {
  const RealClock clock;
  const Deadline deadline = After(clock, 20s);
  while (!condition()) {
    if (Remaining(clock, deadline) == Duration{0}) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

/// A run and a state folder, and processes of the program `daemon_probe` on them.
class RunServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "run-service-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  void TearDown() override {
    for (const pid_t pid : running_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    std::error_code error;
    std::filesystem::remove_all(dir_, error);
  }

  pid_t Start(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {PROBE_PATH,        "--run-dir",     dir_ + "/run",
                                     "--state-dir",     dir_ + "/state", "--root-dir",
                                     dir_ + "/kubelet", "--node-name",   "n"};
    args.insert(args.end(), more.begin(), more.end());
    std::vector<char*> argv;
    argv.reserve(args.size() + 1);
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, Stderr().c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, PROBE_PATH, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    running_.push_back(pid);
    return pid;
  }
  /// The exit code of the process; 128 and the signal's number when a signal ended it.
  int Wait(pid_t pid) {
    int status = 0;
    EXPECT_TRUE(Until([&] { return waitpid(pid, &status, WNOHANG) == pid; }));
    std::erase(running_, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  StatusOr<v1::ProcessInfo> Ask() {
    const auto stub = v1::Admin::NewStub(rpc::Connect(rpc::SocketPath(dir_ + "/run", "probe")));
    rpc::ClientCall call(clock_, After(clock_, 10s));
    v1::ProcessInfo info;
    const grpc::Status status = stub->GetProcess(&call.context(), {}, &info);
    if (!status.ok()) return rpc::FromGrpc(status);
    return info;
  }
  bool Serves(pid_t pid) {
    return Until([&] {
      const auto info = Ask();
      return info.ok() && info->pid() == pid && info->ready();
    });
  }
  /// What /metrics says, or another path.
  std::string Scrape(const std::string& path = "/metrics") const {
    std::string address = ReadAll(dir_ + "/run/probe/http.addr");
    const size_t colon = address.rfind(':');
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{.sin_family = AF_INET,
                   .sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1)))),
                   .sin_addr = {htonl(INADDR_LOOPBACK)},
                   .sin_zero = {}};
    std::string reply;
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
        send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
      std::array<char, 4096> part{};
      for (ssize_t n; (n = recv(fd, part.data(), part.size(), 0)) > 0;)
        reply.append(part.data(), static_cast<size_t>(n));
    }
    close(fd);
    return reply;
  }
  std::string Stderr() const { return dir_ + "/stderr"; }
  /// A process serves a moment before it says that it has started.
  bool Says(const std::string& text) {
    return Until([&] { return ReadAll(Stderr()).find(text) != std::string::npos; });
  }
  /// A configuration file; returns its path.
  std::string Write(const std::string& body) const {
    std::ofstream(dir_ + "/config.yaml")
        << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        << body;
    return dir_ + "/config.yaml";
  }

  std::string dir_;
  RealClock clock_;
  std::vector<pid_t> running_;
};

TEST_F(RunServiceTest, ServesAndStopsWhenTold) {
  const pid_t pid = Start();
  ASSERT_TRUE(Serves(pid)) << ReadAll(Stderr());
  const auto info = Ask();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->name(), "probe");
  EXPECT_TRUE(info->live());
  EXPECT_EQ(info->restarts(), 0U);
  EXPECT_EQ(info->metrics_address() + "\n", ReadAll(dir_ + "/run/probe/http.addr"));
  struct stat socket {};
  ASSERT_EQ(stat((dir_ + "/run/probe/rpc.sock").c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0660U);
  kill(pid, SIGTERM);
  EXPECT_EQ(Wait(pid), 0) << ReadAll(Stderr());
}

TEST_F(RunServiceTest, AProcessWhoseNetworkIsGoneSaysSoAndIsNotReady) {
  const struct {
    const char* interface;
    const char* reason;
    const char* code;
  } kCases[] = {
      {"lo", "", " 200 "},
      {"gone0", "the network of this process is gone: it has no interface gone0", " 503 "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.interface);
    const pid_t pid = Start({"--network-interface", c.interface});
    StatusOr<v1::ProcessInfo> info = Unavailable("not asked");
    ASSERT_TRUE(Until([&] {
      info = Ask();
      return info.ok() && info->pid() == pid && info->reason() == c.reason;
    })) << ReadAll(Stderr());
    EXPECT_TRUE(info->live());
    EXPECT_EQ(info->ready(), std::string_view(c.reason).empty());
    const std::string answer = Scrape("/readyz");
    EXPECT_LT(answer.find(c.code), answer.find('\n')) << answer;
    EXPECT_NE(answer.find(c.reason), std::string::npos) << answer;
    EXPECT_NE(Scrape("/healthz").find(" 200 "), std::string::npos);
    kill(pid, SIGTERM);
    EXPECT_EQ(Wait(pid), 0) << ReadAll(Stderr());
  }
}

TEST_F(RunServiceTest, WhatAnEarlierStartWasWritingGoes) {
  const std::vector<std::string> left = {dir_ + "/run/probe/.starts.new",
                                         dir_ + "/state/probe/.kept.new"};
  for (const std::string& path : left) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "half";
  }
  const std::string others = dir_ + "/state/other/.kept.new";
  std::filesystem::create_directories(dir_ + "/state/other");
  std::ofstream(others) << "of a process that runs";
  ASSERT_TRUE(Serves(Start())) << ReadAll(Stderr());
  for (const std::string& path : left) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(std::filesystem::exists(others));
}

TEST_F(RunServiceTest, AServiceThatIsToEndIsToldFirstThenWaitedForThenDestroyed) {
  const pid_t pid = Start();
  ASSERT_TRUE(Serves(pid)) << ReadAll(Stderr());
  kill(pid, SIGTERM);
  ASSERT_EQ(Wait(pid), 0);
  const std::string log = ReadAll(Stderr());
  const size_t begun = log.find("stop begins"), waited = log.find("waits for threads"),
               destroyed = log.find("service is destroyed");
  ASSERT_NE(destroyed, std::string::npos) << log;
  EXPECT_LT(begun, waited) << log;
  EXPECT_LT(waited, destroyed) << log;
}

/// A connection whose other end sees `uid` and this test's group.
int ConnectAs(uint32_t uid, const std::string& path) {
  int fd = -1;
  std::thread([&] {
    // The call changes this thread alone: glibc's setresuid would change all threads.
    if (syscall(SYS_setresuid, -1, uid, -1) != 0) return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{AF_UNIX, {}};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      close(std::exchange(fd, -1));
  }).join();
  if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

TEST_F(RunServiceTest, EachUserMayCallItsMethodsOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can call as another user";
  std::filesystem::permissions(dir_, std::filesystem::perms(0755));
  const pid_t pid =
      Start({"--config", Write("splitlet: {users: {status: 12345, pleg: 12346, ctl: 12347}}\n")});
  ASSERT_TRUE(Serves(pid)) << ReadAll(Stderr());
  struct Case {
    const char* name;
    uint32_t uid;
    grpc::StatusCode get_process, set_fault;
  };
  using enum grpc::StatusCode;
  for (const Case& c :
       {Case{"a process that asks for health", 12345, OK, PERMISSION_DENIED},
        Case{"splitletctl", 12347, OK, OK},
        Case{"a process without a call here", 12346, PERMISSION_DENIED, PERMISSION_DENIED},
        Case{"a stranger", 999, PERMISSION_DENIED, PERMISSION_DENIED}}) {
    SCOPED_TRACE(c.name);
    const int fd = ConnectAs(c.uid, rpc::SocketPath(dir_ + "/run", "probe"));
    ASSERT_GE(fd, 0) << "the socket is for the group";
    const auto stub = v1::Admin::NewStub(grpc::CreateInsecureChannelFromFd("probe", fd));
    v1::ProcessInfo info;
    v1::FaultList faults;
    v1::SetFaultRequest request;
    request.set_name("x");
    request.set_term("off");
    // Not ClientCall: a connection that was refused does not come back, and must fail immediately.
    grpc::ClientContext get, set;
    const gpr_timespec limit =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(20, GPR_TIMESPAN));
    get.set_deadline(limit);
    set.set_deadline(limit);
    EXPECT_EQ(stub->GetProcess(&get, {}, &info).error_code(), c.get_process);
    EXPECT_EQ(stub->SetFault(&set, request, &faults).error_code(), c.set_fault);
  }
}

TEST_F(RunServiceTest, TheSecondOfTwoIsRefusedAndTheFirstGoesOn) {
  const pid_t first = Start();
  ASSERT_TRUE(Serves(first) && Says("started"));
  EXPECT_EQ(Wait(Start()), 1);
  const std::string error = ReadAll(Stderr());
  EXPECT_NE(error.find("this runs already with the same state directory"), std::string::npos)
      << error;
  EXPECT_EQ(std::ranges::count(error, '\n'), 1) << error;
  EXPECT_TRUE(Serves(first));
}

TEST_F(RunServiceTest, AKilledOneStartsAgainAndIsCounted) {
  for (uint64_t restarts = 0; restarts < 3; ++restarts) {
    const pid_t pid = Start();
    ASSERT_TRUE(Serves(pid)) << ReadAll(Stderr());
    EXPECT_EQ(Ask()->restarts(), restarts);
    kill(pid, SIGKILL);
    EXPECT_EQ(Wait(pid), 128 + SIGKILL);
  }
}

TEST_F(RunServiceTest, SaysWhatCameBeforeItsStart) {
  const auto line_of_start = [&](const std::string& reason) {
    const pid_t pid = Start();
    EXPECT_TRUE(Serves(pid)) << ReadAll(Stderr());
    EXPECT_TRUE(Says("reason=\"" + reason + "\"")) << reason << ": " << ReadAll(Stderr());
    return pid;
  };
  const pid_t first = line_of_start("boot");
  kill(first, SIGTERM);
  EXPECT_EQ(Wait(first), 0);
  const pid_t second = line_of_start("stopped");
  kill(second, SIGKILL);
  Wait(second);
  line_of_start("died");
}

TEST_F(RunServiceTest, AMetricsPortThatIsTakenIsReportedAndTakenLater) {
  const int squatter = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(squatter, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(squatter, 1), 0);
  ASSERT_EQ(getsockname(squatter, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string wanted = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  ASSERT_TRUE(Serves(Start({"--http-address", wanted}))) << ReadAll(Stderr());
  const auto info = Ask();
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_EQ(info->notes_size(), 1) << "it works without";
  EXPECT_EQ(info->notes(0), "metrics are not served: --http-address: listen on " + wanted +
                                ": Address already in use");
  EXPECT_EQ(info->metrics_address(), "");
  close(squatter);
  EXPECT_TRUE(Until([&] {
    const auto now = Ask();
    return now.ok() && now->notes_size() == 0 && now->metrics_address() == wanted;
  }));
  EXPECT_NE(Scrape().find("splitlet_build_info"), std::string::npos);
}

TEST_F(RunServiceTest, BadInputIsOneLineAndExitCodeOne) {
  const std::string config = Write("maxPods: x\nsplitlet: {lockFailPoints: true}\n");
  const struct {
    const char* name;
    std::vector<std::string> args;
    std::string want;
  } kCases[] = {
      {"a wrong value",
       {"--config", config},
       config + ": maxPods: want an integer, not \"x\" (line 3)"},
      {"no such file", {"--config", dir_ + "/none"}, dir_ + "/none: "},
      {"an unknown flag", {"--bogus"}, "--bogus"},
      {"no such address",
       {"--http-address", "nowhere"},
       "--http-address: \"nowhere\" is not host:port"},
      {"no such credentials",
       {"--nats-url", "nats://127.0.0.1:1", "--nats-creds", dir_ + "/none"},
       dir_ + "/none"},
      {"no CA",
       {"--nats-url", "nats://127.0.0.1:1"},
       "--nats-ca: there is none, and the bus is spoken to over TLS"},
      {"no such CA",
       {"--nats-url", "nats://127.0.0.1:1", "--nats-ca", dir_ + "/none"},
       "--nats-ca: " + dir_ + "/none: No such file or directory"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Wait(Start(c.args)), 1);
    const std::string error = ReadAll(Stderr());
    EXPECT_NE(error.find(c.want), std::string::npos) << error;
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << error;
    EXPECT_TRUE(error.starts_with("splitlet-probe: ")) << error;
  }
}

/// In place of the process status.
class HeardEvents final : public v1::Status::Service {
 public:
  grpc::Status RecordEvent(grpc::ServerContext* /*context*/, const v1::RecordEventRequest* request,
                           v1::RecordEventReply* /*reply*/) override {
    const std::lock_guard lock(mutex_);
    for (const auto& event : request->events())
      heard_.push_back(event.kind() + " " + event.name() + " " + event.type() + " " +
                       event.reason() + ": " + event.message());
    return grpc::Status::OK;
  }
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> heard_;
};

TEST_F(RunServiceTest, OneThatCannotBeSetUpSaysSoInAnEventOfTheNode) {
  const std::string config = Write("maxPods: 1\n");
  EXPECT_EQ(Wait(Start({"--config", config})), 1) << "status is away";
  const std::string line = "splitlet-probe: start: the machine is not fit for it\n";
  EXPECT_EQ(ReadAll(Stderr()), line);
  HeardEvents events;
  FakeLogSink sink;
  std::filesystem::create_directories(dir_ + "/run/status");
  const auto status = rpc::StartServer(
      {.socket_path = rpc::SocketPath(dir_ + "/run", "status"), .services = {&events}}, Log(sink));
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(Wait(Start({"--config", config})), 1);
  EXPECT_EQ(ReadAll(Stderr()), line);
  EXPECT_EQ(events.Take(), std::vector<std::string>{"Node n Warning KubeletSetupFailed: "
                                                    "splitlet-probe: the machine is not fit for "
                                                    "it"});
  const pid_t pid = Start();
  ASSERT_TRUE(Serves(pid));
  EXPECT_TRUE(Until([&] {
    const auto heard = events.Take();
    return !heard.empty() && heard.front().find("KubeletSetupFailed") == std::string::npos;
  }));
}

TEST_F(RunServiceTest, AConfigurationIsCheckedWithoutStartingAnything) {
  const std::string config = dir_ + "/config.yaml";
  const std::string head =
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  std::ofstream(config) << head << "maxPods: 3\n";
  EXPECT_EQ(Wait(Start({"--config", config, "--check-config"})), 0) << ReadAll(Stderr());
  std::ofstream(config) << head << "maxPods: -3\n";
  EXPECT_EQ(Wait(Start({"--config", config, "--check-config"})), 1);
  EXPECT_NE(ReadAll(Stderr()).find(config + ": maxPods"), std::string::npos) << ReadAll(Stderr());
  std::ofstream(config) << head << "maxPodz: 3\n";
  EXPECT_EQ(Wait(Start({"--config", config, "--check-config"})), 1) << "a check is strict";
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/run"));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/state"));
}

TEST_F(RunServiceTest, WhatTheFileSetsInVainIsToldOnce) {
  const std::string config =
      Write("maxPodz: 3\noomScoreAdj: -500\nvolumePluginDir: /p\nmaxPods: 3\n");
  const pid_t pid = Start({"--config", config});
  ASSERT_TRUE(Serves(pid) && Says("started")) << ReadAll(Stderr());
  const std::string log = ReadAll(Stderr());
  for (const char* text : {"Using lenient decoding as strict decoding failed",
                           "maxPodz: unknown key (line 3)", "volumePluginDir, oomScoreAdj"}) {
    SCOPED_TRACE(text);
    const size_t at = log.find(text);
    ASSERT_NE(at, std::string::npos) << log;
    EXPECT_EQ(log.find(text, at + 1), std::string::npos) << log;
  }
  const std::string metrics = Scrape();
  for (const char* field : {"oomScoreAdj", "volumePluginDir"})
    EXPECT_NE(metrics.find(fmt::format("splitlet_config_ignored_fields{{field=\"{}\"}} 1", field)),
              std::string::npos)
        << metrics;
  EXPECT_EQ(metrics.find("field=\"maxPods\""), std::string::npos);
}

TEST_F(RunServiceTest, LockedFaultsAreLockedForTheEnvironmentToo) {
  const std::string config = Write("splitlet: {lockFailPoints: true}\n");
  setenv("SPLITLET_FAILPOINTS", "some.point=delay(1ms)", 1);
  const pid_t pid = Start({"--config", config});
  unsetenv("SPLITLET_FAILPOINTS");
  EXPECT_EQ(Wait(pid), 1);
  EXPECT_NE(ReadAll(Stderr()).find("SPLITLET_FAILPOINTS"), std::string::npos) << ReadAll(Stderr());
  EXPECT_NE(ReadAll(Stderr()).find("locked by the configuration"), std::string::npos);
  EXPECT_TRUE(Serves(Start({"--config", config}))) << "nothing set, nothing refused";
}

TEST_F(RunServiceTest, FaultsAreSetByCallAndByEnvironment) {
  setenv("SPLITLET_FAILPOINTS", "some.point=delay(1ms)", 1);
  const pid_t pid = Start();
  unsetenv("SPLITLET_FAILPOINTS");
  ASSERT_TRUE(Serves(pid));
  const auto stub = v1::Admin::NewStub(rpc::Connect(rpc::SocketPath(dir_ + "/run", "probe")));
  const auto set = [&](const std::string& name, const std::string& term, v1::FaultList& list) {
    v1::SetFaultRequest request;
    request.set_name(name);
    request.set_term(term);
    rpc::ClientCall call(clock_, After(clock_, 10s));
    return rpc::FromGrpc(stub->SetFault(&call.context(), request, &list));
  };
  const auto term_of = [](const v1::FaultList& list, const std::string& name) {
    for (const auto& fault : list.faults())
      if (fault.name() == name) return fault.term();
    return std::string("absent");
  };
  v1::FaultList list;
  ASSERT_TRUE(set("other.point", "3*return(unavailable)->off", list).ok());
  EXPECT_EQ(term_of(list, "some.point"), "delay(1ms)");
  EXPECT_EQ(term_of(list, "other.point"), "3*return(unavailable)->off");
  EXPECT_EQ(set("other.point", "explode", list).code(), StatusCode::kInvalidArgument);
  v1::FaultList cleared;
  ASSERT_TRUE(set("", "off", cleared).ok());
  EXPECT_EQ(term_of(cleared, "some.point"), "off");
}

TEST_F(RunServiceTest, TheLevelOfTheLogIsSetUntilItEnds) {
  const pid_t first = Start({"--log-level", "warn"});
  ASSERT_TRUE(Serves(first));
  const auto stub = v1::Admin::NewStub(rpc::Connect(rpc::SocketPath(dir_ + "/run", "probe")));
  const auto set = [&](const std::string& level) -> std::string {
    v1::SetLogLevelRequest request;
    request.set_level(level);
    rpc::ClientCall call(clock_, After(clock_, 10s));
    v1::SetLogLevelReply reply;
    const Status status = rpc::FromGrpc(stub->SetLogLevel(&call.context(), request, &reply));
    return status.ok() ? reply.before() : Message(status);
  };
  EXPECT_EQ(set("loud"), "level: want debug, info, warn or error");
  EXPECT_EQ(set("debug"), "warn");
  EXPECT_TRUE(Says("\"log level changed\" level=\"debug\" before=\"warn\""));
  const auto info = Ask();
  EXPECT_EQ(info.ok() ? info->log_level() : "", "debug");
  EXPECT_EQ(set("error"), "debug");
  EXPECT_TRUE(Says("level=\"error\" before=\"debug\"")) << "whatever the new level";
  kill(first, SIGTERM);
  EXPECT_EQ(Wait(first), 0);
  ASSERT_TRUE(Serves(Start({"--log-level", "warn"})));
  const auto second = Ask();
  EXPECT_EQ(second.ok() ? second->log_level() : "", "warn");
}

}  // namespace
}  // namespace splitlet::daemon
