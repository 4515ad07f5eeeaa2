#include <gmock/gmock.h>

#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Grants that no retry can change, and those of pods that only an API server would store.

namespace splitlet::pod_worker {
namespace {

class Refused : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }

  /// Of the API, with a group that 32 bits cannot hold.
  static kube::Pod Unsafe() {
    auto pod = TestPod{.source = "api"}.Make();
    pod.mutable_spec()->mutable_security_context()->set_fs_group(1LL << 32U);
    return pod;
  }
};

constexpr const char* kWhy =
    "spec.securityContext.fsGroup: Invalid value: 4294967296: must be between 0 and 2147483647, "
    "inclusive";

TEST_F(Refused, AnApiPodThatNoServerWouldTakeForANewOneRuns) {
  auto pod = TestPod{.source = "api"}.Make();
  pod.mutable_spec()->add_image_pull_secrets();
  auto& spread = *pod.mutable_spec()->add_topology_spread_constraints();
  (*spread.mutable_label_selector()->mutable_match_labels())["a"] = "b c";
  spread.add_match_label_keys("a");
  auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*resources.mutable_requests())["kubernetes.io/batch-cpu"].set_string("500");
  EXPECT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  pod.mutable_spec()->add_tolerations()->set_operator_("Gt");
  EXPECT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(Record()->generation(), 2);
}

TEST_F(Refused, AStaticPodIsHeldToTheRulesForNewOnes) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->add_tolerations()->set_operator_("Gt");
  EXPECT_EQ(RunPod(pod).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Show(), "");
}

TEST_F(Refused, IsAnEventAndAReasonOfThePodUntilItEnds) {
  EXPECT_EQ(RunPod(Unsafe()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Grant(Unsafe()).code(), StatusCode::kInvalidArgument);
  RunFor(5min);
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(events.Count("FailedValidation"), 1);
  EXPECT_EQ(events.Text("FailedValidation"),
            std::string("Error validating pod web_default(uid-web) from api, ignoring: ") + kWhy);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_FALSE(Record()->granted());
  EXPECT_EQ(Record()->refused_generation(), 1);
  EXPECT_EQ(Record()->refusal(), kWhy);
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("app").message(), kWhy);
  Remove(Unsafe());
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Refused, AnotherGenerationOrAnotherStartIsJudgedAnew) {
  EXPECT_EQ(RunPod(Unsafe()).code(), StatusCode::kInvalidArgument);
  Restart();
  EXPECT_EQ(Record()->refused_generation(), 0) << "sync-loop asks this start again";
  EXPECT_EQ(Grant(Unsafe()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Record()->refused_generation(), 1);
  EXPECT_TRUE(RunPod(TestPod{.source = "api"}.Make(), 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_TRUE(Record()->granted());
  EXPECT_EQ(Record()->refusal(), "");
  EXPECT_EQ(NoteOf("app").reason(), "");
  EXPECT_GT(Record()->start_time_wall_ns(), 0);
}

TEST_F(Refused, AChangeOfAPodThatRunsLeavesItAsItIs) {
  const auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(RunPod(Unsafe(), 1, 2).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(events.Count("FailedValidation"), 1);
  EXPECT_EQ(Record()->generation(), 1);
  EXPECT_EQ(Record()->refused_generation(), 2);
  Exit("app", 1);
  RunFor(1s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready") << "it is tended all the same";
  EXPECT_TRUE(RunPod(pod, 1, 3).ok());
  EXPECT_EQ(Record()->refused_generation(), 0);
  EXPECT_EQ(Record()->refusal(), "");
}

TEST_F(Refused, AnotherPodThanTheOneWantedIsToldAndMayComeAgain) {
  const auto pod = TestPod{.source = "api"}.Make();
  Want(pod);
  auto other = pod;
  other.mutable_spec()->set_host_pid(true);
  EXPECT_EQ(Grant(other).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(events.Count("FailedValidation"), 1);
  EXPECT_EQ(Record()->refused_generation(), 0) << "sync-loop may have a better one";
  EXPECT_TRUE(Grant(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Refused, AGrantTakesNoLimitAway) {
  auto pod = TestPod{.source = "api"}.Make();
  pod.mutable_metadata()->set_generation(1);
  auto& limits = *pod.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits();
  limits["memory"].set_string("64Mi");
  Want(pod);
  auto unlimited = pod;
  unlimited.mutable_spec()->mutable_containers(0)->clear_resources();
  EXPECT_EQ(Grant(unlimited).code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(Grant(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  auto resized = pod;
  resized.mutable_metadata()->set_generation(2);
  (*resized.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits())["memory"]
      .set_string("1Gi");
  Want(resized, 1, 2);
  auto unlimited_again = resized;
  unlimited_again.mutable_spec()->mutable_containers(0)->clear_resources();
  EXPECT_EQ(Grant(unlimited_again, 1, 2).code(), StatusCode::kPermissionDenied);
  auto as_admitted = resized;
  *as_admitted.mutable_spec()->mutable_containers(0)->mutable_resources() =
      pod.spec().containers(0).resources();
  EXPECT_TRUE(Grant(as_admitted, 1, 2).ok());
}

TEST_F(Refused, APodTakenOverFromAKubeletIsTendedWhateverAServerWouldSayOfIt) {
  auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const auto sandbox = runtime.Sandboxes().at(0).id;
  Kill();
  for (const char* dir : {"/run/pod-worker", "/state/pod-worker"})
    ASSERT_TRUE(files.RemoveTree(dir).ok());
  pod.mutable_spec()->add_image_pull_secrets();
  Start();
  EXPECT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(runtime.Sandboxes().at(0).id, sandbox);
  Exit("app", 1);
  RunFor(1s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
}

}  // namespace
}  // namespace splitlet::pod_worker
