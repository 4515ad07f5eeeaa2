#include "services/pod-worker/sync/limited_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/v1/api.pb.h"

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

/// A runtime whose calls stay until they are let go.
class BusyRuntime final : public cri::Runner {
 public:
  StatusOr<cri::SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig&, const std::string&,
                                         Deadline) override {
    Stay();
    return cri::SandboxId("sandbox");
  }
  Status StopPodSandbox(const cri::SandboxId&, Deadline) override {
    Stay();
    return OkStatus();
  }
  StatusOr<cri::ContainerId> CreateContainer(const cri::SandboxId&,
                                             const runtime::v1::ContainerConfig&,
                                             const runtime::v1::PodSandboxConfig&,
                                             Deadline) override {
    Stay();
    return cri::ContainerId("container");
  }
  Status StartContainer(const cri::ContainerId&, Deadline) override {
    Stay();
    return OkStatus();
  }
  Status StopContainer(const cri::ContainerId&, int64_t, Deadline) override {
    Stay();
    return OkStatus();
  }

  void AwaitCalls(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= n; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  void Stay() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++running_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return free_; });
    --running_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0, most_ = 0;
  bool free_ = false;
};

TEST(LimitedRunner, WorkForTheRuntimeIsLimitedByKindAndStopsOfContainersAreNot) {
  constexpr int kLimit = 2, kCalls = 6;
  const Deadline soon = After(RealClock{}, 1min);
  const struct {
    const char* name;
    std::function<Status(LimitedRunner&)> call;
    int at_once;
  } kCases[] = {
      {"sandboxes", [&](auto& r) { return r.RunPodSandbox({}, "", soon).status(); }, kLimit},
      {"containers", [&](auto& r) { return r.CreateContainer({}, {}, {}, soon).status(); }, kLimit},
      {"starts", [&](auto& r) { return r.StartContainer({}, soon); }, kLimit},
      {"stops of sandboxes", [&](auto& r) { return r.StopPodSandbox({}, soon); }, kLimit},
      {"stops of containers", [&](auto& r) { return r.StopContainer({}, 30, soon); }, kCalls},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const RealClock clock;
    BusyRuntime runtime;
    LimitedRunner runner(runtime, clock,
                         {.min = kLimit, .max = kLimit, .initial = kLimit, .slow_unmeasured = 1h});
    {
      std::vector<std::jthread> callers;
      for (int i = 0; i < kCalls; ++i)
        callers.emplace_back([&] { EXPECT_TRUE(c.call(runner).ok()); });
      runtime.AwaitCalls(c.at_once);
      runtime.LetGo();
    }
    EXPECT_EQ(runtime.most(), c.at_once);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
