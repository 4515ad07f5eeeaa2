#include <algorithm>
#include <iterator>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// What a pod shows between two pulls of an image that cannot be had.

namespace splitlet::pod_worker {
namespace {

constexpr const char* kNoImage = "rpc error: code = NotFound desc = no such image";

class PullBackoff : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    runtime.SetPull("bad:1", {.error = NotFound("no such image")});
    Start();
  }
  static kube::Pod PodOf(const std::vector<std::string>& images) {
    static const std::vector<std::string> kNames = {"a", "b"};
    auto pod = TestPod{.source = "api",
                       .containers = {kNames.begin(), kNames.begin() + std::ssize(images)}}
                   .Make();
    for (size_t i = 0; i < images.size(); ++i)
      pod.mutable_spec()->mutable_containers(static_cast<int>(i))->set_image(images[i]);
    return pod;
  }
  /// Events of a container with this reason and text.
  int Told(const std::string& container, const std::string& reason, const std::string& text) {
    return static_cast<int>(std::ranges::count_if(events.events, [&](const auto& event) {
      return event.container == container && event.reason == reason && event.message == text;
    }));
  }
  int BackOffs(const std::string& container) {
    return Told(container, "BackOff", "Back-off pulling image \"bad:1\"");
  }
  int WaitsTold(const std::string& container) {
    return Told(container, "Failed", "Error: ImagePullBackOff");
  }
  std::string Reason(const std::string& container = "a") { return NoteOf(container).reason(); }
};

TEST_F(PullBackoff, TheErrorGivesWayToItWhileItLasts) {
  ASSERT_TRUE(RunPod(PodOf({"bad:1"})).ok());
  EXPECT_EQ(Reason(), "ErrImagePull");
  EXPECT_EQ(NoteOf("a").message(), kNoImage);
  RunFor(6s);  // the first wait is 10 to 12 s
  EXPECT_EQ(Reason(), "ImagePullBackOff");
  EXPECT_EQ(NoteOf("a").message(),
            "Back-off pulling image \"bad:1\": ErrImagePull: " + std::string(kNoImage));
  EXPECT_EQ(BackOffs("a"), 1);
  EXPECT_EQ(WaitsTold("a"), 1);
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  RunFor(6s);
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  EXPECT_EQ(Reason(), "ErrImagePull");
  RunFor(10s);  // of 20 to 24 s
  EXPECT_EQ(Reason(), "ImagePullBackOff");
  EXPECT_EQ(BackOffs("a"), 2);
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
}

TEST_F(PullBackoff, TheErrorIsShownForTenSecondsAtMost) {
  ASSERT_TRUE(RunPod(PodOf({"bad:1"})).ok());
  const auto pull = [&](size_t n) {
    while (runtime.Calls("PullImage") < n) RunFor(1s);
  };
  for (const size_t n : {3, 4, 5, 6}) {  // waits of 40, 80, 160 and 300 s
    pull(n);
    EXPECT_EQ(Reason(), "ErrImagePull");
    RunFor(10s);
    EXPECT_EQ(Reason(), "ImagePullBackOff");
    RunFor(25s);
    EXPECT_EQ(Reason(), "ImagePullBackOff");
    EXPECT_EQ(BackOffs("a"), static_cast<int>(n));
  }
}

TEST_F(PullBackoff, IsToldOnceHoweverOftenThePodIsSynced) {
  ASSERT_TRUE(RunPod(PodOf({"bad:1", "busybox:1.36"})).ok());
  Exit("b", 1);
  for (int i = 0; i < 5; ++i) {
    Changed();
    RunFor(500ms);
  }
  EXPECT_EQ(Reason(), "ImagePullBackOff");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  EXPECT_EQ(BackOffs("a"), 1);
  EXPECT_EQ(WaitsTold("a"), 1);
  EXPECT_EQ(Told("a", "Failed", "Error: ErrImagePull"), 1);
}

TEST_F(PullBackoff, IsToldOnceOfEachContainerOfTheImage) {
  ASSERT_TRUE(RunPod(PodOf({"bad:1", "bad:1"})).ok());
  EXPECT_EQ(BackOffs("a"), 0);
  EXPECT_EQ(BackOffs("b"), 1);
  RunFor(6s);
  EXPECT_EQ(Reason("a"), "ImagePullBackOff");
  EXPECT_EQ(Reason("b"), "ImagePullBackOff");
  for (const char* container : {"a", "b"}) {
    EXPECT_EQ(BackOffs(container), 1) << container;
    EXPECT_EQ(WaitsTold(container), 1) << container;
  }
}

TEST_F(PullBackoff, OfAVolumeIsToldOnceOfThePodAndOnceByWhoMountsIt) {
  auto pod = PodOf({"busybox:1.36", "busybox:1.36"});
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("model");
  volume.mutable_volume_source()->mutable_image()->set_reference("bad:1");
  auto& mount = *pod.mutable_spec()->mutable_containers(0)->add_volume_mounts();
  mount.set_name("model");
  mount.set_mount_path("/model");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Reason(), "ErrImagePull");
  EXPECT_EQ(BackOffs(""), 0);
  RunFor(6s);
  EXPECT_EQ(Reason(), "ImagePullBackOff");
  for (int i = 0; i < 3; ++i) Changed();
  EXPECT_EQ(BackOffs(""), 1);
  EXPECT_EQ(WaitsTold("a"), 1);
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  RunFor(6s);
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  EXPECT_EQ(Reason(), "ErrImagePull");
}

}  // namespace
}  // namespace splitlet::pod_worker
