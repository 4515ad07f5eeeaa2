#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "services/gc/collect/images/image_list_rpc.h"
#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

struct ImageNode : TestNode {
  ImageNode() {
    files.SetUsage("/var/lib/containerd", {1000, 100, 100, 50});
    for (const char* name : {"x.io/a:1", "x.io/b:1", "x.io/c:1"}) runtime.AddImage(name, 60);
  }
  bool HasImage(const std::string& image) {
    return runtime.ImageStatus({image}, After(clock, 1s))->has_value();
  }
  void WantPodWithImage(const std::string& image) {
    k8s::io::api::core::v1::Pod pod;
    pod.mutable_spec()->add_containers()->set_image(image);
    Want(pod);
  }
  void Want(const k8s::io::api::core::v1::Pod& pod) {
    v1::DesiredRecord record;
    record.set_incarnation(3);
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired.Put("p", record).ok());
  }
  size_t Images() { return runtime.ListImages(After(clock, 1s))->size(); }
};

TEST(GcImages, ImagesGoUntilEnoughIsFree) {
  ImageNode node;
  node.Start();
  node.CompleteViews();
  EXPECT_EQ(node.Images(), 3u) << "they are young";
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 1u) << "100 bytes are wanted, each has 60";
  EXPECT_EQ(node.service().GetReport().error, "");
}

TEST(GcImages, ImagesOfWantedPodsStayAndWithoutThePodsAllDo) {
  ImageNode node;
  node.WantPodWithImage("x.io/a:1");
  node.Start();
  node.all.Advance(10min);
  EXPECT_EQ(node.Images(), 3u) << "`desired` is not complete";
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.Images(), 1u);
  EXPECT_TRUE(node.HasImage("x.io/a:1"));
}

TEST(GcImages, ThoseOfFinishedPodsAreNotWanted) {
  const struct {
    const char* name;
    v1::WorkerState state;
    int64_t incarnation;
    uint64_t shutdown_boot;
    bool stays;
  } kCases[] = {
      {"it is finished", v1::FINISHED, 3, 0, false},
      {"it still ends", v1::TERMINATED, 3, 0, true},
      {"its earlier incarnation is finished", v1::FINISHED, 2, 0, true},
      {"it ended with the node, and lives again", v1::FINISHED, 3, 7, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ImageNode node;
    node.WantPodWithImage("x.io/a:1");
    v1::WorkerRecord worker;
    worker.set_incarnation(c.incarnation);
    worker.set_state(c.state);
    worker.set_shutdown_boot(c.shutdown_boot);
    ASSERT_TRUE(node.workers.Put("p", worker).ok());
    node.files.SetUsage("/var/lib/containerd", {1000, 1, 100, 50});  // all images have to go
    node.Start();
    node.CompleteViews();
    node.all.Advance(5min);
    EXPECT_EQ(node.HasImage("x.io/a:1"), c.stays);
    EXPECT_FALSE(node.HasImage("x.io/b:1"));
  }
}

TEST(GcImages, SoDoImagesOfEphemeralContainersAndVolumes) {
  ImageNode node;
  k8s::io::api::core::v1::Pod pod;
  pod.mutable_spec()->add_ephemeral_containers()->mutable_ephemeral_container_common()->set_image(
      "x.io/b:1");
  pod.mutable_spec()->add_volumes()->mutable_volume_source()->mutable_image()->set_reference(
      "x.io/c:1");
  node.Want(pod);
  node.Start();
  node.CompleteViews();
  node.all.Advance(5min);
  node.Run();
  EXPECT_FALSE(node.HasImage("x.io/a:1"));
  EXPECT_TRUE(node.HasImage("x.io/b:1"));
  EXPECT_TRUE(node.HasImage("x.io/c:1"));
}

TEST(GcImages, ASourceThatIsAwayHoldsUpImagesForFiveMinutesOnly) {
  ImageNode node;
  node.WantPodWithImage("x.io/a:1");
  node.Start();
  node.CompleteViews();
  node.CompleteViews("file");
  node.all.Advance(290s);
  node.Run();
  EXPECT_EQ(node.Images(), 3u) << "it may come in a moment";
  node.all.Advance(15s);
  node.Run();
  EXPECT_EQ(node.Images(), 1u);
  EXPECT_TRUE(node.HasImage("x.io/a:1"));
}

TEST(GcImages, TheImageOfTheSandboxesStays) {
  const struct {
    const char* name;
    std::function<void(ImageNode&)> arrange;
    size_t left;
  } kCases[] = {
      {"the runtime names it", [](ImageNode& n) { n.runtime.SetSandboxImage("x.io/a:1"); }, 1},
      {"the runtime pins it",
       [](ImageNode& n) {
         n.runtime.SetSandboxImage("");
         n.runtime.PinImage("x.io/a:1");
       },
       1},
      {"the configuration names it",
       [](ImageNode& n) {
         n.runtime.SetSandboxImage("");
         n.config.sandbox_image = "x.io/a:1";
       },
       1},
      {"the runtime does not name it", [](ImageNode& n) { n.runtime.SetSandboxImage(""); }, 3},
      {"the runtime does not answer",
       [](ImageNode& n) { n.runtime.AddFault({.method = "Status", .code = StatusCode::kUnknown}); },
       3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ImageNode node;
    node.files.SetUsage("/var/lib/containerd", {100000, 100, 100, 50});
    c.arrange(node);
    node.Start();
    node.CompleteViews();
    node.all.Advance(11min);
    EXPECT_EQ(node.Images(), c.left);
    EXPECT_TRUE(node.HasImage("x.io/a:1"));
  }
}

TEST(GcImages, AnImageThatComesIntoUseWhileOthersAreRemovedStays) {
  for (const bool as_container : {false, true}) {
    SCOPED_TRACE(as_container ? "a container" : "a pod");
    ImageNode node;
    node.files.SetUsage("/var/lib/containerd", {100000, 100, 100, 50});
    node.Start();
    node.CompleteViews();
    // Images are removed in the order of their ids, as they are listed.
    const std::string last = node.runtime.ListImages(After(node.clock, 1s))->back().tags.at(0);
    bool came = false;
    node.on_call = [&](std::string_view method) {
      if (method != "RemoveImage" || std::exchange(came, true)) return;
      if (!as_container) return node.WantPodWithImage(last);
      const cri::TestPod pod{.name = "web", .uid = "u"};
      const Deadline deadline = After(node.clock, 1min);
      const auto sandbox = node.runtime.RunPodSandbox(pod.Config(), "", deadline);
      ASSERT_TRUE(sandbox.ok());
      ASSERT_TRUE(node.runtime
                      .CreateContainer(*sandbox, pod.ContainerConfig("app", 0, last), pod.Config(),
                                       deadline)
                      .ok());
    };
    node.all.Advance(5min);
    EXPECT_TRUE(came);
    EXPECT_EQ(node.Images(), 1u);
    EXPECT_TRUE(node.HasImage(last));
  }
}

TEST(GcImages, TooLittleFreedIsAnEventAndFailingTwiceAnother) {
  ImageNode node;
  node.files.SetUsage("/var/lib/containerd", {100000, 100, 100, 50});
  node.Start();
  node.CompleteViews();
  EXPECT_EQ(std::ranges::count(node.events.reasons, "ImageGCFailed"), 0);
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 0u);
  EXPECT_GE(std::ranges::count(node.events.reasons, "FreeDiskSpaceFailed"), 1);
  node.all.Advance(5min);
  EXPECT_GE(std::ranges::count(node.events.reasons, "ImageGCFailed"), 1);
}

TEST(GcImages, ADiskWithoutCapacityIsAnEventAndNoImageGoes) {
  ImageNode node;
  node.files.SetUsage("/var/lib/containerd", {});
  node.Start();
  node.CompleteViews();
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 3u);
  const auto event =
      std::ranges::find(node.events.all, "InvalidDiskCapacity", &daemon::PodEvent::reason);
  ASSERT_NE(event, node.events.all.end());
  EXPECT_TRUE(event->about_node);
  EXPECT_TRUE(event->warning);
  EXPECT_EQ(event->message, "invalid capacity 0 on image filesystem");
  EXPECT_EQ(node.service().GetReport().error, "invalid capacity 0 on image filesystem");
  EXPECT_GE(std::ranges::count(node.events.reasons, "ImageGCFailed"), 1) << "the second time";
}

/// A runtime that lists an image without an id.
class OneWithoutId final : public cri::Images {
 public:
  explicit OneWithoutId(cri::Images& behind) : behind_(behind) {}
  StatusOr<std::vector<cri::Image>> ListImages(Deadline deadline) override {
    auto images = behind_.ListImages(std::move(deadline));
    if (images.ok()) images->push_back({.tags = {"x.io/odd:1"}, .size_bytes = 900});
    return images;
  }
  StatusOr<std::optional<cri::Image>> ImageStatus(const cri::ImageQuery& query,
                                                  Deadline deadline) override {
    return behind_.ImageStatus(query, std::move(deadline));
  }
  StatusOr<std::string> PullImage(const std::string& image, const runtime::v1::AuthConfig* auth,
                                  const runtime::v1::PodSandboxConfig& sandbox,
                                  Deadline deadline) override {
    return behind_.PullImage(image, auth, sandbox, std::move(deadline));
  }
  StatusOr<cri::ImageFsReport> ImageFsInfo(Deadline deadline) override {
    return behind_.ImageFsInfo(std::move(deadline));
  }
  StatusOr<std::string> SandboxImage(Deadline deadline) override {
    return behind_.SandboxImage(std::move(deadline));
  }

 private:
  cri::Images& behind_;
};

TEST(GcImages, OneWithoutAnIdIsAnEventAndNeverAskedFor) {
  ImageNode node;
  OneWithoutId images(node.runtime);
  node.images = &images;
  std::vector<std::string> removed;
  node.on_call = [&](std::string_view method) {
    if (method == "RemoveImage") removed.emplace_back(method);
  };
  node.Start();
  node.CompleteViews();
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 1u);
  EXPECT_EQ(removed.size(), 2u) << "it would be enough for both, and the first to go";
  const auto event =
      std::ranges::find(node.events.all, "InvalidImageID", &daemon::PodEvent::reason);
  ASSERT_NE(event, node.events.all.end());
  EXPECT_TRUE(event->about_node && event->warning);
  EXPECT_EQ(event->message, "ImageID is not valid, skipping, image: x.io/odd:1");
}

TEST(GcImages, TheLargestAreShownFirst) {
  std::vector<cri::Image> images;
  for (const uint64_t size : {20U, 40U, 10U, 40U})
    images.push_back({.id = std::to_string(images.size()), .size_bytes = size});
  const auto shown = [&](size_t limit) {
    std::string ids;
    for (const auto& image : LargestImages(images, limit)) ids += image.id;
    return ids;
  };
  EXPECT_EQ(shown(3), "130");
  EXPECT_EQ(shown(9), "1302");
  EXPECT_EQ(shown(0), "1302");
}

TEST(GcImages, AThresholdOfHundredLeavesImagesAlone) {
  ImageNode node;
  node.config.image_high_percent = 100;
  node.Start();
  node.CompleteViews();
  node.all.Advance(10min);
  EXPECT_EQ(node.Images(), 3u);
}

TEST(GcImages, KilledWhereAnImageGoesTheNextStartFreesTheRest) {
  const struct {
    const char* point;
    size_t after_death, in_the_end;
  } kCases[] = {{"gc.remove-image.before", 3, 1}, {"gc.remove-image.after", 2, 0}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.point);
    ImageNode node;
    node.Start();
    node.CompleteViews();
    node.DieAt(c.point, [&] { node.all.Advance(5min); });
    EXPECT_EQ(node.Images(), c.after_death);
    node.Start();
    EXPECT_EQ(node.Images(), c.after_death) << "all are young again";
    node.all.Advance(5min);
    EXPECT_EQ(node.Images(), c.in_the_end);
    EXPECT_EQ(node.service().GetReport().error, "");
  }
}

TEST(GcImages, OneThatTheRuntimeDoesNotRemoveIsTriedAgain) {
  ImageNode node;
  node.failing = "RemoveImage";
  node.Start();
  node.CompleteViews();
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 3u);
  EXPECT_NE(node.service().GetReport().error, "");
  EXPECT_NE(node.Metrics().find("splitlet_gc_errors_total{kind=\"image\"}"), std::string::npos);
  node.failing = "";
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 1u);
}

}  // namespace
}  // namespace splitlet::gc
