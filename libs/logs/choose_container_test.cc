#include "libs/logs/choose_container.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::logs {
namespace {

std::string Chosen(const std::string& statuses, bool previous) {
  kube::Pod pod;
  const auto decoded =
      kube::DecodeInto(R"({"metadata": {"name": "web"}, "status": {)" + statuses + "}}", "pod",
                       kube::Strictness::kStrict, pod);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  const auto chosen = ChooseContainer(pod, "a", previous);
  if (!chosen.ok()) return Message(chosen.status());
  return chosen->id + (chosen->running ? " runs" : "");
}

std::string OfState(const std::string& state) {
  return R"("containerStatuses": [{"name": "a", )" + state + "}]";
}

TEST(ChooseContainer, AsAKubeletDoes) {
  const std::string last = R"(, "lastState": {"terminated": {"containerID": "c://1"}})";
  const struct {
    const char* name;
    std::string statuses;
    bool previous;
    const char* want;
  } kCases[] = {
      {"one that runs", OfState(R"("containerID": "c://2", "state": {"running": {}})"), false,
       "c://2 runs"},
      {"an init container that runs",
       R"("initContainerStatuses": [{"name": "a", "containerID": "c://2", "state": {"running": {}}}])",
       false, "c://2 runs"},
      {"one that has ended", OfState(R"("state": {"terminated": {"containerID": "c://2"}})"), false,
       "c://2"},
      {"one that waits for its next run", OfState(R"("state": {"waiting": {}})" + last), false,
       "c://1"},
      {"the one before", OfState(R"("containerID": "c://2", "state": {"running": {}})" + last),
       true, "c://1"},
      {"none before", OfState(R"("containerID": "c://2", "state": {"running": {}})"), true,
       "previous terminated container \"a\" in pod \"web\" not found"},
      {"not known", "", false, "container \"a\" in pod \"web\" is not available"},
      {"no image", OfState(R"("state": {"waiting": {"reason": "ErrImagePull"}})"), false,
       "container \"a\" in pod \"web\" is waiting to start: image can't be pulled"},
      {"no image for long", OfState(R"("state": {"waiting": {"reason": "ImagePullBackOff"}})"),
       false,
       "container \"a\" in pod \"web\" is waiting to start: trying and failing to pull image"},
      {"made", OfState(R"("state": {"waiting": {"reason": "ContainerCreating"}})"), false,
       "container \"a\" in pod \"web\" is waiting to start: ContainerCreating"},
      {"no state", OfState(R"("ready": false)"), false,
       "container \"a\" in pod \"web\" is waiting to start - no logs yet"},
      {"ended without an id", OfState(R"("state": {"terminated": {}})"), false,
       "container \"a\" in pod \"web\" is terminated"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Chosen(c.statuses, c.previous), c.want);
  }
}

}  // namespace
}  // namespace splitlet::logs
