// Runs splitlet-kubelet on fake-cri as a kubelet's unit would.

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "libs/base/processes.h"
#include "tests/harness/child.h"
#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::kubelet {
namespace {

using harness::ReadFile;
using harness::WaitFor;
using ::testing::HasSubstr;

constexpr Duration kSoon = 30s;

/// Notifications to the supervisor above.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  bool Hears(const std::string& wanted) {
    std::array<char, 200> text{};
    for (ssize_t got = 0; (got = recv(fd_, text.data(), text.size(), MSG_DONTWAIT)) > 0;)
      heard_ += std::string(text.data(), static_cast<size_t>(got)) + "\n";
    return heard_.find(wanted + "\n") != std::string::npos;
  }
  void Forget() { heard_.clear(); }

 private:
  const int fd_;
  std::string heard_;
};

class Launcher : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_.Start("fake-cri", {.argv = {harness::BinDir() + "/fake-cri", "--socket",
                                         dir_ / "cri.sock", "--control", dir_ / "ctl.sock"},
                                .env = {},
                                .output = dir_ / "fake-cri.log"});
    view_ = std::make_unique<harness::RuntimeView>("unix://" + (dir_ / "cri.sock"));
    std::filesystem::create_directory(dir_ / "m");
    std::filesystem::create_directory(dir_ / "d");
    harness::WriteFile(dir_ / "m/web.yaml", harness::PodYaml("web", "sleep 1000"));
    harness::WriteFile(dir_ / "k.yaml",
                       "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                       "enableServer: false\nstaticPodPath: m\npodLogsDir: " +
                           (dir_ / "logs") + "\n");
    harness::WriteFile(dir_ / "d/1.conf",
                       "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                       "fileCheckFrequency: 1s\n");
  }
  void TearDown() override {
    if (pid_ != 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (HasFailure()) ADD_FAILURE() << ReadFile(dir_ / "out").substr(0, 8000);
  }
  void Start() {
    pid_ = harness::Spawn(
        {.argv = {harness::BinDir() + "/splitlet-kubelet", "--splitlet-dir", dir_ / "s",
                  "--splitlet-scripts", harness::SourceDir() + "/deploy/local", "--config",
                  dir_ / "k.yaml", "--config-dir=" + (dir_ / "d"),
                  "--container-runtime-endpoint=unix://" + (dir_ / "cri.sock"), "--root-dir",
                  dir_ / "kubelet", "--hostname-override=Node-1", "--cloud-provider="},
         .env = {{"NOTIFY_SOCKET", dir_ / "notify"}},
         .output = dir_ / "out"});
  }
  static std::vector<pid_t> StartedBy(pid_t parent) {
    std::vector<pid_t> children;
    std::error_code gone;
    const std::string tasks = fmt::format("/proc/{}/task", parent);
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
      std::istringstream pids(ReadFile(task.path() / "children"));
      for (pid_t pid = 0; pids >> pid;) children.push_back(pid);
    }
    return children;
  }
  /// The processes in the cgroup of the unit: the launcher first, then all its descendants.
  std::vector<pid_t> CgroupOfUnit() const {
    std::vector<pid_t> all = {pid_};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto started = StartedBy(all[i]);
      all.insert(all.end(), started.begin(), started.end());
    }
    return all;
  }
  /// The processes of the stack, whatever their parent is.
  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string words = ReadFile(entry.path() / "cmdline");
      if (words.find(dir_ / "s") != std::string::npos) left.push_back(words);
    }
    return left;
  }
  /// The launcher's children, by the program's path.
  std::map<std::string, pid_t> Children() const {
    std::map<std::string, pid_t> children;
    for (const pid_t pid : StartedBy(pid_)) {
      std::string name = ReadFile(fmt::format("/proc/{}/cmdline", pid));
      name = name.substr(0, name.find('\0'));
      children[name.substr(name.rfind('/') + 1)] = pid;
    }
    return children;
  }
  int End(int signal) {
    kill(pid_, signal);
    return ExitCode();
  }
  /// -1: it has not ended.
  int ExitCode() {
    int status = 0;
    const bool ended = WaitFor(kSoon, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!ended) return -1;
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  harness::TempDir dir_{"kl"};
  NotifySocket notify_{dir_ / "notify"};
  harness::Keeper runtime_;
  std::unique_ptr<harness::RuntimeView> view_;
  pid_t pid_ = 0;
};

TEST_F(Launcher, EndsProcessesAndNeverPods) {
  Start();
  ASSERT_TRUE(WaitFor(kSoon, [&] { return notify_.Hears("READY=1"); }));
  ASSERT_TRUE(WaitFor(kSoon, [&] { return view_->RunningOf("web").size() == 1; }));
  const auto id = view_->RunningOf("web").at(0).id;
  EXPECT_EQ(Children().size(), ProcessNames().size() + 1);  // and nats-server

  const pid_t pleg = Children()["splitlet-pleg"];
  ASSERT_GT(pleg, 0);
  kill(pleg, SIGKILL);
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const pid_t now = Children()["splitlet-pleg"];
    return now > 0 && now != pleg;
  }));
  EXPECT_THAT(ReadFile(dir_ / "out"),
              HasSubstr("pleg ended (signal 9), starting it again in 100 ms"));

  const auto children = Children();
  EXPECT_EQ(End(SIGTERM), 0);
  EXPECT_TRUE(notify_.Hears("STOPPING=1"));
  for (const auto& [name, pid] : children) EXPECT_NE(kill(pid, 0), 0) << name;
  ASSERT_EQ(view_->RunningOf("web").size(), 1u);
  EXPECT_EQ(view_->RunningOf("web").at(0).id, id);

  Start();  // the restarted process finds its pod
  ASSERT_TRUE(WaitFor(kSoon, [&] { return Children().size() == ProcessNames().size() + 1; }));
  EXPECT_TRUE(harness::HoldsFor(3s, [&] {
    const auto running = view_->RunningOf("web");
    return running.size() == 1 && running[0].id == id;
  }));
  EXPECT_EQ(End(SIGTERM), 0);
}

// KillMode=control-group: systemd sends one TERM to each process of the unit.
TEST_F(Launcher, EndsWellWhenAllOfItsCgroupIsEnded) {
  std::optional<cri::ContainerId> id;
  for (const bool launcher_first : {true, false}) {
    SCOPED_TRACE(launcher_first ? "the launcher gets the signal first"
                                : "the launcher gets the signal last");
    notify_.Forget();
    Start();
    ASSERT_TRUE(WaitFor(kSoon, [&] { return notify_.Hears("READY=1"); }));
    ASSERT_TRUE(WaitFor(kSoon, [&] { return view_->RunningOf("web").size() == 1; }));
    if (!id) id = view_->RunningOf("web").at(0).id;
    auto cgroup = CgroupOfUnit();
    ASSERT_GE(cgroup.size(), ProcessNames().size() + 2);  // and nats-server, and the launcher
    if (!launcher_first) std::ranges::reverse(cgroup);
    for (const int signal : {SIGTERM, SIGCONT})
      for (const pid_t pid : cgroup) kill(pid, signal);
    EXPECT_EQ(ExitCode(), 0);
    EXPECT_TRUE(notify_.Hears("STOPPING=1"));
    EXPECT_TRUE(WaitFor(kSoon, [&] { return Left().empty(); }))
        << fmt::format("{}", fmt::join(Left(), "\n"));
    for (const pid_t pid : cgroup)
      EXPECT_TRUE(WaitFor(kSoon, [pid] { return kill(pid, 0) != 0; })) << pid;
    ASSERT_EQ(view_->RunningOf("web").size(), 1u);
    EXPECT_EQ(view_->RunningOf("web").at(0).id, *id);
  }
}

TEST_F(Launcher, ProcessesEndWithIt) {
  Start();
  ASSERT_TRUE(WaitFor(kSoon, [&] { return notify_.Hears("READY=1"); }));
  const auto children = Children();
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  for (const auto& [name, pid] : children)
    EXPECT_TRUE(WaitFor(kSoon, [pid = pid] { return kill(pid, 0) != 0; })) << name;
}

TEST_F(Launcher, WhatItCannotDoIsOneLine) {
  const struct {
    std::vector<std::string> words;
    const char* want;
  } kCases[] = {
      {{"--no-such-flag"}, "splitlet-kubelet: unknown flag: --no-such-flag\n"},
      {{"--config=/nonexistent/k.yaml"}, "splitlet-kubelet: --config: /nonexistent/k.yaml"},
      {{"--splitlet-dir", dir_ / "t", "--cloud-provider=gce"}, "--cloud-provider: \"gce\""},
      {{"--splitlet-dir", dir_ / "t", "--node-labels=kubernetes.io/foo=bar"}, "--node-labels"},
  };
  for (const auto& c : kCases) {
    std::vector<std::string> argv = {harness::BinDir() + "/splitlet-kubelet"};
    argv.insert(argv.end(), c.words.begin(), c.words.end());
    std::filesystem::remove(dir_ / "out");
    EXPECT_EQ(harness::RunToEnd({.argv = argv, .env = {}, .output = dir_ / "out"}, 20s), 1);
    EXPECT_THAT(ReadFile(dir_ / "out"), HasSubstr(c.want));
  }
  std::filesystem::remove(dir_ / "out");
}

}  // namespace
}  // namespace splitlet::kubelet
