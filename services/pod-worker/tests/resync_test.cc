#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Looks at pods to which nothing has happened.

namespace splitlet::pod_worker {
namespace {

constexpr size_t kPods = 40;

class QuietPods : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  void RunPods(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::string uid = fmt::format("uid-{}", i);
      ASSERT_TRUE(RunPod(TestPod{.name = uid, .uid = uid}.Make()).ok());
    }
  }
  size_t Listings() const {
    return runtime.Calls("ListPodSandbox") + runtime.Calls("ListContainers");
  }
};

TEST_F(QuietPods, AreLookedAtTogetherAndOnceInTheirPeriod) {
  RunPods(kPods);
  RunFor(5min);
  const size_t listings = Listings();
  const size_t sandboxes = runtime.Calls("PodSandboxStatus");
  const size_t containers = runtime.Calls("ContainerStatus");
  RunFor(10min);
  EXPECT_LE(Listings() - listings, 2u * 60) << "two for each sixth of a minute";
  EXPECT_GE(runtime.Calls("PodSandboxStatus") - sandboxes, kPods * 6);
  EXPECT_LE(runtime.Calls("PodSandboxStatus") - sandboxes, kPods * 10);
  EXPECT_EQ(runtime.Calls("ContainerStatus"), containers) << "nothing new to say";
}

TEST_F(QuietPods, AreAdoptedByOneListing) {
  RunPods(kPods);
  const size_t listings = Listings();
  const size_t sandboxes = runtime.Calls("PodSandboxStatus");
  Restart();
  RunFor(1s);
  EXPECT_EQ(runtime.Calls("PodSandboxStatus") - sandboxes, kPods);
  EXPECT_LE(Listings() - listings, 4u) << "of the start, and of the first looks";
}

TEST_F(QuietPods, AChangeIsLookedAtByAListingOfItsOwn) {
  RunPods(2);
  runtime.AddFault({.method = "ListPodSandbox", .pod = "uid-1", .message = "not now", .times = 1});
  Exit("app", 1, "uid-1");
  EXPECT_NE(Record("uid-1")->sync_error().find("not now"), std::string::npos);
  EXPECT_EQ(Record("uid-0")->sync_error(), "");
  RunFor(30s);
  EXPECT_EQ(runtime.Running("uid-1").size(), 1u) << Show("uid-1");
}

TEST_F(QuietPods, WhatDiedUnseenIsFoundByTheNextLook) {
  RunPods(kPods);
  RunFor(2min);
  ASSERT_TRUE(runtime.ExitContainer("uid-7", "app", 1).ok());
  RunFor(91s);
  EXPECT_EQ(Show("uid-7"), "app/0=exited(1) app/1=running sandbox/0=ready");
}

TEST_F(QuietPods, ARuntimeThatDoesNotListIsAskedForEachAndTheyRunOn) {
  RunPods(3);
  const int fault = runtime.AddFault({.method = "ListContainers", .message = "no answer"});
  RunFor(100s);
  for (const char* uid : {"uid-0", "uid-1", "uid-2"})
    EXPECT_NE(Record(uid)->sync_error().find("no answer"), std::string::npos) << uid;
  runtime.RemoveFault(fault);
  RunFor(30s);
  for (const char* uid : {"uid-0", "uid-1", "uid-2"}) {
    EXPECT_EQ(Record(uid)->sync_error(), "") << uid;
    EXPECT_EQ(Show(uid), "app/0=running sandbox/0=ready");
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
