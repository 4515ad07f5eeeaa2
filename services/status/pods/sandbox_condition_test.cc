#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/status/pods/pod_status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {
namespace {

std::set<std::string> TypesOf(const StatusInputs& in) {
  std::set<std::string> types;
  const kube::PodStatus status = ComputePodStatus(in);
  for (const auto& condition : status.conditions()) types.insert(condition.type());
  return types;
}

TEST(SandboxCondition, IsThereWithItsFeatureGateAlone) {
  kube::Pod pod;
  pod.mutable_metadata()->set_name("web");
  // As an API server shows it, from before the gate was set.
  pod.mutable_status()->add_conditions()->set_type("PodReadyToStartContainers");
  v1::DesiredRecord desired;
  desired.set_state(v1::DesiredRecord::WANTED);
  desired.set_source("api");
  v1::AdmissionRecord waits;
  waits.set_decision(v1::AdmissionRecord::WAITING);
  for (const auto* admission : std::initializer_list<const v1::AdmissionRecord*>{nullptr, &waits}) {
    SCOPED_TRACE(admission == nullptr ? "not started" : "waits for resources");
    StatusInputs in{.pod = pod, .desired = desired, .admission = admission};
    EXPECT_EQ(TypesOf(in).count("PodReadyToStartContainers"), 1u);
    in.sandbox_condition = false;
    EXPECT_EQ(TypesOf(in).count("PodReadyToStartContainers"), 0u);
    EXPECT_EQ(TypesOf(in).count("Ready"), 1u);
  }
}

}  // namespace
}  // namespace splitlet::status
