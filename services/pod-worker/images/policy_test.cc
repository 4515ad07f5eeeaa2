#include "services/pod-worker/images/policy.h"

#include <gtest/gtest.h>

#include "libs/kube/image_name.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Images, DefaultTag) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const struct {
    const char* name;
    std::string image, want;  // empty: refused
  } kCases[] = {
      {"no tag is latest, the short name stays", "busybox", "busybox:latest"},
      {"a tag stays", "nginx:1.25", "nginx:1.25"},
      {"a digest stays", "nginx" + digest, "nginx" + digest},
      {"tag and digest stay", "nginx:1" + digest, "nginx:1" + digest},
      {"a port is no tag", "reg.example.com:5000/team/app", "reg.example.com:5000/team/app:latest"},
      {"upper case is refused", "Nginx", ""},
      {"an upper-case registry is one", "REG/team/app", "REG/team/app:latest"},
      {"an id is refused", std::string(64, 'a'), ""},
      {"an empty tag is refused", "nginx:", ""},
      {"a short digest is refused", "nginx@sha256:abc", ""},
      {"two dots are refused", "a..b", ""},
      {"nothing is refused", "", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto got = kube::WithDefaultTag(c.image);
    EXPECT_EQ(got.ok() ? *got : "", c.want);
  }
  EXPECT_EQ(PullPolicyOf("", "busybox"), "Always");
  EXPECT_EQ(PullPolicyOf("", "busybox:latest"), "Always");
  EXPECT_EQ(PullPolicyOf("", "busybox:1"), "IfNotPresent");
  EXPECT_EQ(PullPolicyOf("", "nginx" + digest), "IfNotPresent");
  EXPECT_EQ(PullPolicyOf("Never", "busybox"), "Never");
}

TEST(Images, Decisions) {
  using Kind = ImageDecision::Kind;
  FakeClock clock;
  const StatusOr<std::optional<cri::Image>> absent = std::optional<cri::Image>();
  const StatusOr<std::optional<cri::Image>> present =
      std::optional<cri::Image>(cri::Image{.id = "sha256:1"});
  const StatusOr<std::optional<cri::Image>> broken = Unavailable("gone");
  PullMemory memory;
  const auto ask = [&](const char* policy, const StatusOr<std::optional<cri::Image>>* local) {
    return DecideImage({"img:1", policy, clock.Now()}, memory, local);
  };
  EXPECT_EQ(ask("Always", nullptr).kind, Kind::kPull);
  EXPECT_EQ(ask("IfNotPresent", &absent).kind, Kind::kPull);
  const auto use = ask("IfNotPresent", &present);
  EXPECT_EQ(use.kind, Kind::kUse);
  EXPECT_EQ(use.ref, "sha256:1");
  EXPECT_EQ(use.events.at(0).message,
            "Container image \"img:1\" already present on machine and can be accessed by the pod");
  EXPECT_EQ(ask("Never", &present).kind, Kind::kUse);
  const auto never = ask("Never", &absent);
  EXPECT_EQ(never.reason, "ErrImageNeverPull");
  EXPECT_TRUE(never.never_pulls);
  EXPECT_EQ(never.message, "Container image \"img:1\" is not present with pull policy of Never");
  EXPECT_EQ(ask("IfNotPresent", &broken).reason, "ImageInspectError");
  EXPECT_EQ(ask("IfNotPresent", &broken).events.at(0).reason, "InspectFailed");
  const auto bad = DecideImage({"Nginx", "", clock.Now()}, memory, nullptr);
  EXPECT_EQ(bad.reason, "InvalidImageName");
  EXPECT_NE(bad.message.find("must be lowercase"), std::string::npos);
  EXPECT_EQ(bad.events.at(0).reason, "InspectFailed");
  memory.pulled_ref = "sha256:2";
  EXPECT_EQ(ask("Always", nullptr).ref, "sha256:2");
}

TEST(Images, ARequestIsCountedOnceWithWhatWasKnown) {
  using Kind = ImageDecision::Kind;
  const struct {
    const char* name;
    const char* policy;
    PullMemory memory;
    std::optional<bool> present;
    ImageDecision decision;
    std::optional<ImageRequest> want;
  } kCases[] = {
      {"it is there",
       "IfNotPresent",
       {},
       true,
       {.kind = Kind::kUse},
       ImageRequest{"ifnotpresent", "true", "false"}},
      {"it is there and the pod may not use it",
       "",
       {},
       true,
       {.kind = Kind::kPull},
       ImageRequest{"ifnotpresent", "true", "true"}},
      {"no pull was requested",
       "Always",
       {},
       std::nullopt,
       {.kind = Kind::kPull},
       ImageRequest{"always", "unknown", "true"}},
      {"pulling failed before",
       "",
       {},
       false,
       {.kind = Kind::kFail, .reason = "ImagePullBackOff", .backs_off = true},
       ImageRequest{"ifnotpresent", "false", "true"}},
      {"it is not to be pulled",
       "Never",
       {},
       false,
       {.kind = Kind::kFail, .reason = "ErrImageNeverPull", .never_pulls = true},
       ImageRequest{"never", "false", "false"}},
      {"the runtime does not answer",
       "",
       {},
       std::nullopt,
       {.kind = Kind::kFail, .reason = "ImageInspectError"},
       ImageRequest{"ifnotpresent", "unknown", "unknown"}},
      {"it is being pulled", "", {.pulling = true}, false, {.kind = Kind::kWaitForPull}, {}},
      {"it was pulled for this",
       "",
       {.pulled_ref = "sha256:1"},
       std::nullopt,
       {.kind = Kind::kUse},
       {}},
  };
  FakeClock clock;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(RequestOf({"img:1", c.policy, clock.Now()}, c.memory, c.present, c.decision), c.want);
  }
}

TEST(Images, BackOffAfterFailures) {
  FakeClock clock;
  Random random(1);
  PullMemory memory;
  const auto question = [&] { return ImageQuestion{"img:1", "Always", clock.Now()}; };
  const auto failed = PullFailed(question(), NotFound("no such image"), random, memory);
  EXPECT_EQ(failed.reason, "ErrImagePull");
  EXPECT_EQ(failed.message, "rpc error: code = NotFound desc = no such image");
  const auto waiting = DecideImage(question(), memory, nullptr);
  EXPECT_EQ(waiting.reason, "ImagePullBackOff");
  EXPECT_EQ(waiting.message, "Back-off pulling image \"img:1\": ErrImagePull: " + failed.message);
  EXPECT_EQ(waiting.retry_at, clock.Now() + memory.wait);
  EXPECT_EQ(waiting.sync_at, waiting.retry_at);
  EXPECT_TRUE(waiting.backs_off);
  EXPECT_EQ(failed.retry_at, waiting.retry_at);
  EXPECT_EQ(failed.sync_at, clock.Now() + memory.wait / 2) << "the back-off is shown then";
  EXPECT_FALSE(failed.backs_off);
  memory.unreported_failure = true;
  const auto shown = DecideImage(question(), memory, nullptr);
  EXPECT_EQ(shown.reason, "ErrImagePull");
  EXPECT_EQ(shown.message, failed.message);
  EXPECT_EQ(shown.retry_at, waiting.retry_at);
  EXPECT_EQ(shown.sync_at, failed.sync_at);
  memory.backed_off = {"a"};
  for (const Duration want : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    EXPECT_EQ(memory.delay, want);
    EXPECT_GE(memory.wait, want);
    EXPECT_LE(memory.wait, want * 12 / 10);
    clock.Advance(memory.wait);
    EXPECT_EQ(DecideImage(question(), memory, nullptr).kind, ImageDecision::Kind::kPull);
    const auto again = PullFailed(question(), NotFound("no such image"), random, memory);
    EXPECT_EQ(again.sync_at, clock.Now() + std::min<Duration>(memory.wait / 2, 10s));
    EXPECT_TRUE(memory.backed_off.empty()) << "each wait has its events";
  }
}

TEST(Images, WhatARuntimeSaysOfAFailureIsAReasonOnlyAtTheBeginning) {
  const struct {
    const char* name;
    Status error;
    std::string reason, message;
  } kCases[] = {
      {"the registry is away", Unknown("RegistryUnavailable: timeout"), "RegistryUnavailable",
       "image pull failed for img:1 because the registry is unavailable: timeout"},
      {"a signature is wrong", Unknown("SignatureValidationFailed: no key"),
       "SignatureValidationFailed",
       "image pull failed for img:1 because the signature validation failed: no key"},
      {"nothing follows", Unknown("SignatureValidationFailed"), "SignatureValidationFailed",
       "image pull failed for img:1 because the signature validation failed"},
      {"with a code of its own", Unavailable("SignatureValidationFailed: no key"), "ErrImagePull",
       "rpc error: code = Unavailable desc = SignatureValidationFailed: no key"},
      {"of several failures", Unknown("[SignatureValidationFailed: no key, unauthorized]"),
       "ErrImagePull", "[SignatureValidationFailed: no key, unauthorized]"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    Random random(1);
    PullMemory memory;
    const ImageQuestion question{"img:1", "Always", clock.Now()};
    const auto failed = PullFailed(question, c.error, random, memory);
    EXPECT_EQ(failed.reason, c.reason);
    EXPECT_EQ(failed.message, c.message);
    EXPECT_EQ(failed.events.at(0).message,
              "Failed to pull image \"img:1\": " + PullErrorText(c.error));
    EXPECT_EQ(DecideImage(question, memory, nullptr).message,
              fmt::format("Back-off pulling image \"img:1\": {}: {}", c.reason, c.message));
  }
}

TEST(Images, PodsThatFailedTogetherComeBackApart) {
  FakeClock clock;
  Random random(1);
  std::set<Duration> waits;
  for (int i = 0; i < 10; ++i) {
    PullMemory memory;
    PullFailed({"img:1", "Always", clock.Now()}, NotFound("no such image"), random, memory);
    waits.insert(memory.wait);
  }
  EXPECT_EQ(waits.size(), 10u);
}

}  // namespace
}  // namespace splitlet::pod_worker
