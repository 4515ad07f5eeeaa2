#include "services/pod-worker/pod/sandbox_stop.h"

#include <gtest/gtest.h>

#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"

namespace splitlet::pod_worker {
namespace {

TEST(StopSandbox, OneThatIsGoneIsStopped) {
  FakeClock clock;
  cri::FakeRuntime runtime(clock);
  const cri::TestPod pod{"web", "uid-web"};
  const auto sandbox = runtime.RunPodSandbox(pod.Config(), "", After(clock, 10s));
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  const struct {
    const char* name;
    StatusCode answer, want;
  } kCases[] = {
      {"the runtime does not know it", StatusCode::kNotFound, StatusCode::kOk},
      {"the runtime has failed", StatusCode::kInternal, StatusCode::kInternal},
      {"the runtime does not answer", StatusCode::kUnavailable, StatusCode::kUnavailable},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const int fault = runtime.AddFault({.method = "StopPodSandbox", .code = c.answer});
    EXPECT_EQ(StopSandbox(runtime, *sandbox, After(clock, 10s)).code(), c.want);
    runtime.RemoveFault(fault);
  }
  EXPECT_TRUE(StopSandbox(runtime, *sandbox, After(clock, 10s)).ok());
  EXPECT_EQ(runtime.PodSandboxStatus(*sandbox, After(clock, 10s))->state,
            cri::SandboxState::kNotReady);
}

}  // namespace
}  // namespace splitlet::pod_worker
