#include "services/status/api/pods/pod_call.h"

#include <gtest/gtest.h>

#include <functional>

namespace splitlet::status {
namespace {

/// Pod "u1" in this version.
std::shared_ptr<ServerPod> ShownAs(const std::string& version,
                                   const std::string& phase = "Running") {
  auto pod = std::make_shared<ServerPod>();
  pod->uid = "u1";
  pod->version = version;
  pod->status.set_phase(phase);
  return pod;
}

std::shared_ptr<ServerPod> Deleting(const std::string& version, const std::string& phase) {
  auto pod = ShownAs(version, phase);
  pod->deleting = true;
  return pod;
}

PodAtServer KnownAs(std::shared_ptr<const ServerPod> server, uint64_t sent = 5) {
  return {
      .sent = sent, .uid = "u1", .server = std::move(server), .progress = WriteProgress::kWritten};
}

PodTarget TargetWith(std::shared_ptr<const ServerPod> shown) {
  return {.object = {"default", "web", "u1"}, .live = true, .shown = std::move(shown)};
}

PodAtServer Changed(PodAtServer pod, const std::function<void(PodAtServer&)>& change) {
  change(pod);
  return pod;
}

TEST(PodCall, TheLatestStatusIsWrittenAndAFinishedPodIsDeleted) {
  const auto gone = [](PodAtServer& pod) { pod.gone = true; };
  const auto differs = [](PodAtServer& pod) { pod.differs = true; };
  const struct {
    const char* name;
    PodAtServer pod;
    StatusVersion status;
    PodTarget target;
    PodCall want;
  } kCases[] = {
      {"never written", {.uid = "u1"}, {.version = 5}, TargetWith(ShownAs("7")), PodCall::kWrite},
      {"written", KnownAs(ShownAs("7")), {.version = 5}, TargetWith(ShownAs("7")), PodCall::kNone},
      {"an older status was written",
       KnownAs(ShownAs("7"), 4),
       {.version = 5},
       TargetWith(ShownAs("7")),
       PodCall::kWrite},
      {"another client has changed it",
       Changed(KnownAs(ShownAs("7")), differs),
       {.version = 5},
       TargetWith(ShownAs("8")),
       PodCall::kWrite},
      {"the server has no such pod",
       Changed(KnownAs(ShownAs("7"), 4), gone),
       {.version = 5},
       TargetWith(ShownAs("7")),
       PodCall::kNone},
      {"deleted and running",
       KnownAs(Deleting("7", "Running")),
       {.version = 5},
       TargetWith(Deleting("7", "Running")),
       PodCall::kNone},
      {"deleted and terminal, its worker has not finished",
       KnownAs(Deleting("7", "Failed")),
       {.version = 5},
       TargetWith(Deleting("7", "Failed")),
       PodCall::kNone},
      {"deleted, terminal and finished",
       KnownAs(Deleting("7", "Failed")),
       {.version = 5, .deletable = true},
       TargetWith(Deleting("7", "Failed")),
       PodCall::kAskFinished},
      {"deleted since the last answer",
       KnownAs(ShownAs("7", "Succeeded")),
       {.version = 5, .deletable = true},
       TargetWith(Deleting("8", "Succeeded")),
       PodCall::kAskFinished},
      {"finished, and no client has deleted it",
       KnownAs(ShownAs("7", "Failed")),
       {.version = 5, .deletable = true},
       TargetWith(ShownAs("7", "Failed")),
       PodCall::kNone},
      {"the server has not its last status",
       KnownAs(Deleting("7", "Failed"), 4),
       {.version = 5, .deletable = true},
       TargetWith(Deleting("7", "Failed")),
       PodCall::kWrite},
      {"a mirror pod is never deleted as finished",
       KnownAs(Deleting("7", "Failed")),
       {.version = 5, .deletable = true},
       {.object = {"default", "web", "u1"}, .mirror = true, .shown = Deleting("7", "Failed")},
       PodCall::kNone},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextCall(c.pod, c.status, c.target), c.want);
  }
}

TEST(PodCall, APatchIsMadeAgainstTheNewestKnownVersion) {
  const auto reported = [] {
    auto pod = ShownAs("7");
    pod->status.mutable_start_time()->set_seconds(1);
    return pod;
  };
  const auto failed = [](PodAtServer& pod) { pod.progress = WriteProgress::kFirstCallFailed; };
  const PodAtServer unknown{.uid = "u1"};
  const struct {
    const char* name;
    PodAtServer pod;
    PodTarget target;
    std::string want;  // version; empty: read the pod first
  } kCases[] = {
      {"a new pod", unknown, TargetWith(ShownAs("7")), "7"},
      {"a pod that was reported before", unknown, TargetWith(reported()), ""},
      {"the first call has failed", Changed(unknown, failed), TargetWith(ShownAs("7")), ""},
      {"`desired` is behind",
       unknown,
       {.object = {"default", "web", "u1"}, .shown = ShownAs("7")},
       ""},
      {"`desired` shows nothing", unknown, TargetWith(nullptr), ""},
      {"only the last answer is known", KnownAs(ShownAs("7")), TargetWith(nullptr), "7"},
      {"`desired` shows a later version", KnownAs(ShownAs("7")), TargetWith(ShownAs("8")), "8"},
      {"`desired` shows an earlier version", KnownAs(ShownAs("7")), TargetWith(ShownAs("6")), "7"},
      {"the versions do not compare", KnownAs(ShownAs("7")), TargetWith(ShownAs("x")), ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto base = BaseOf(c.pod, c.target);
    EXPECT_EQ(base == nullptr ? "" : base->version, c.want);
  }
}

TEST(PodCall, AVersionThatTheLastAnswerDoesNotCoverIsCompared) {
  const auto shown = [](const std::string& version) {
    return [version](PodAtServer& pod) { pod.shown_version = version; };
  };
  const auto gone = [](PodAtServer& pod) { pod.gone = true; };
  const struct {
    const char* name;
    PodAtServer pod;
    StatusVersion status;
    PodTarget target;
    AfterShown want;
  } kCases[] = {
      {"another object has the name",
       Changed(KnownAs(ShownAs("7")), [](PodAtServer& pod) { pod.uid = "u0"; }),
       {.version = 5},
       TargetWith(ShownAs("9")),
       {.call_soon = true}},
      {"nothing is shown", KnownAs(ShownAs("7")), {.version = 5}, TargetWith(nullptr), {}},
      {"our own patch", KnownAs(ShownAs("7")), {.version = 5}, TargetWith(ShownAs("7")), {}},
      {"read before our patch",
       KnownAs(ShownAs("7")),
       {.version = 5},
       TargetWith(ShownAs("6")),
       {}},
      {"later than our patch",
       KnownAs(ShownAs("7")),
       {.version = 5},
       TargetWith(ShownAs("8")),
       {.compare = true}},
      {"versions that do not compare",
       KnownAs(ShownAs("7")),
       {.version = 5},
       TargetWith(ShownAs("x")),
       {.compare = true}},
      {"the server was restored",
       Changed(KnownAs(ShownAs("7")), shown("8")),
       {.version = 5},
       TargetWith(ShownAs("3")),
       {.restored = true, .compare = true}},
      {"the pod is gone",
       Changed(KnownAs(ShownAs("7")), gone),
       {.version = 5},
       TargetWith(ShownAs("8")),
       {}},
      {"deleted and finished",
       KnownAs(ShownAs("7")),
       {.version = 5, .deletable = true},
       TargetWith(Deleting("8", "Failed")),
       {.compare = true, .call_soon = true}},
      {"deleted and not finished",
       KnownAs(ShownAs("7")),
       {.version = 5},
       TargetWith(Deleting("8", "Failed")),
       {.compare = true}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const AfterShown after = CompareWithShown(c.pod, c.status, c.target);
    EXPECT_EQ(after.restored, c.want.restored);
    EXPECT_EQ(after.compare, c.want.compare);
    EXPECT_EQ(after.call_soon, c.want.call_soon);
  }
}

}  // namespace
}  // namespace splitlet::status
