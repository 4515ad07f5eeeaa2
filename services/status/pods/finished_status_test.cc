#include <gtest/gtest.h>

#include <set>
#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/kube/codec.h"
#include "services/status/pods/pod_status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {
namespace {

/// A status is computed from the one before: of a pod that has ended and never ran, too, the next
/// one says the same, also after a restart that forgets the one before.
TEST(FinishedStatus, ComesToTheSamePhaseAgain) {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    SCOPED_TRACE(policy);
    kube::Pod pod;
    const auto decoded = kube::DecodeInto(
        fmt::format("metadata: {{name: web, uid: u1, annotations: {{kubernetes.io/config.source: "
                    "file}}}}\nspec: {{restartPolicy: {}, containers: [{{name: a, image: x}}]}}",
                    policy),
        "test", kube::Strictness::kStrict, pod);
    ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
    v1::DesiredRecord desired;
    desired.set_source("file");
    desired.set_state(v1::DesiredRecord::REMOVED);
    v1::WorkerRecord worker;
    worker.set_state(v1::FINISHED);
    StatusInputs in{.pod = pod, .desired = desired, .worker = &worker, .now = WallFromNanos(1)};
    const kube::PodStatus first = ComputePodStatus(in);
    // Of one that ended before anything of it began nobody is told that it ran.
    EXPECT_EQ(first.phase(), "Pending");
    in.previous = &first;
    EXPECT_EQ(ComputePodStatus(in).phase(), first.phase());
  }
}

/// It was not the node that was short of anything.
TEST(FinishedStatus, APodThatPassedItsOwnLimitIsEvictedAndNotDisrupted) {
  kube::Pod pod;
  pod.mutable_spec()->add_containers()->set_name("a");
  v1::DesiredRecord desired;
  desired.set_source("api");
  v1::WorkerRecord worker;
  worker.set_state(v1::FINISHED);
  worker.set_evicted(true);
  worker.mutable_verdict()->set_phase("Failed");
  worker.mutable_verdict()->set_reason("Evicted");
  const auto conditions = [&] {
    const auto status = ComputePodStatus(
        {.pod = pod, .desired = desired, .worker = &worker, .now = WallFromNanos(1)});
    EXPECT_EQ(status.reason(), "Evicted");
    std::set<std::string> types;
    for (const auto& condition : status.conditions()) types.insert(condition.type());
    return types;
  };
  EXPECT_TRUE(conditions().contains("DisruptionTarget"));
  worker.set_own_limit(true);
  EXPECT_FALSE(conditions().contains("DisruptionTarget"));
}

}  // namespace
}  // namespace splitlet::status
