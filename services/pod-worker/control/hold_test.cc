#include "services/pod-worker/control/hold.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

cri::Container Dead(const std::string& id, const std::string& uid, const std::string& name,
                    cri::ContainerState state = cri::ContainerState::kExited) {
  cri::Container container{.id = cri::ContainerId(id), .name = name, .state = state};
  container.labels["io.kubernetes.pod.uid"] = uid;
  return container;
}

TEST(Hold, NothingThatAPodStillNeeds) {
  const std::vector<cri::Container> containers{
      Dead("live-2", "live", "app"),
      Dead("live-1", "live", "app"),
      Dead("made", "live", "new", cri::ContainerState::kCreated),
      Dead("gone-1", "gone", "app"),
      Dead("gone-made", "gone", "new", cri::ContainerState::kCreated),
      Dead("busy-1", "busy", "app"),
      Dead("busy-0", "busy", "app"),
      Dead("done-1", "done", "app"),
      Dead("done-0", "done", "app"),
      Dead("live-lost-1", "live", "lost", cri::ContainerState::kUnknown),
      Dead("live-lost-0", "live", "lost", cri::ContainerState::kUnknown),
      Dead("gone-lost", "gone", "lost", cri::ContainerState::kUnknown),
      Dead("busy-lost-1", "busy", "lost", cri::ContainerState::kUnknown),
      Dead("busy-lost-0", "busy", "lost", cri::ContainerState::kUnknown)};
  const std::vector<cri::Sandbox> sandboxes{
      {.id = cri::SandboxId("live-new"), .pod_uid = "live"},
      {.id = cri::SandboxId("live-old"), .pod_uid = "live"},
      {.id = cri::SandboxId("gone-new"), .pod_uid = "gone"},
      {.id = cri::SandboxId("gone-ready"), .pod_uid = "gone", .state = cri::SandboxState::kReady}};
  const auto need = [](const std::string& uid) {
    if (uid == "live") return PodNeed::kNewest;
    if (uid == "busy") return PodNeed::kEverything;
    return uid == "done" ? PodNeed::kRemains : PodNeed::kNothing;
  };
  const HoldAnswer answer =
      ComputeHold({.uids = {"live", "gone", "done", "busy"},
                   .container_ids = {"live-2", "live-1", "made", "gone-1", "gone-made", "busy-0",
                                     "done-1", "done-0", "unknown", "live-lost-1", "live-lost-0",
                                     "gone-lost", "busy-lost-0"},
                   .sandbox_ids = {"live-new", "live-old", "gone-new", "gone-ready"}},
                  sandboxes, containers, need);
  EXPECT_EQ(answer.removable.uids, std::vector<std::string>{"gone"});
  EXPECT_EQ(answer.removable.container_ids,
            (std::vector<std::string>{"live-1", "gone-1", "gone-made", "done-1", "done-0",
                                      "live-lost-0", "gone-lost"}));
  EXPECT_EQ(answer.removable.sandbox_ids, (std::vector<std::string>{"live-old", "gone-new"}));
  EXPECT_EQ(answer.held_uids, (std::set<std::string>{"live", "gone", "done"}));
}

/// It may run, and then in this sandbox.
TEST(Hold, ASandboxGoesWithTheContainerOfUnknownStateOnlyWhenThatMayGo) {
  const struct {
    const char* name;
    PodNeed need;
    std::vector<std::string> asked, want;
  } kCases[] = {
      {"both go", PodNeed::kNothing, {"c1"}, {"s1"}},
      {"nobody asked for the container", PodNeed::kNothing, {}, {}},
      {"the pod is finished", PodNeed::kRemains, {"c1"}, {"s1"}},
      {"the pod still counts on it", PodNeed::kNewest, {"c1"}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    cri::Container lost = Dead("c1", "a", "app", cri::ContainerState::kUnknown);
    lost.sandbox_id = cri::SandboxId("s1");
    const HoldAnswer answer = ComputeHold({.container_ids = c.asked, .sandbox_ids = {"s1"}},
                                          {{.id = cri::SandboxId("s2"), .pod_uid = "a"},
                                           {.id = cri::SandboxId("s1"), .pod_uid = "a"}},
                                          {lost}, [&c](const std::string&) { return c.need; });
    EXPECT_EQ(answer.removable.sandbox_ids, c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
