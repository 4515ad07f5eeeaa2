#include "services/sync-loop/admission/preemption.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::sync_loop {
namespace {

using Qos = kube::QosClass;

std::vector<std::string> KeysOf(const std::optional<std::vector<ActivePod>>& victims) {
  if (!victims) return {"impossible"};
  std::vector<std::string> keys;
  for (const auto& victim : *victims) keys.push_back(victim.key);
  return keys;
}

ActivePod Active(const std::string& key, Qos qos, int64_t cpu, int64_t memory = 0) {
  return {.key = key, .qos = qos, .requests = {{"cpu", cpu}, {"memory", memory}}};
}

TEST(ChooseVictims, TakesAsFewOfTheBetterClassesAsPossible) {
  const ActivePod none = Active("none", Qos::kBestEffort, 0);
  const ActivePod small = Active("small", Qos::kBurstable, 100, 10);
  const ActivePod middle = Active("middle", Qos::kBurstable, 200, 20);
  const ActivePod middle_lighter = Active("middle-lighter", Qos::kBurstable, 200, 5);
  const ActivePod big = Active("big", Qos::kGuaranteed, 1000, 100);
  const struct {
    const char* name;
    Needs needs;
    std::vector<ActivePod> candidates;
    std::vector<std::string> want;
  } kCases[] = {
      {"one that gives nothing stays", {{"cpu", 100}}, {none, middle}, {"middle"}},
      {"Burstable before Guaranteed", {{"cpu", 200}}, {big, middle}, {"middle"}},
      {"Guaranteed when the rest is not enough", {{"cpu", 900}}, {big, middle, small}, {"big"}},
      {"both when one is not enough", {{"cpu", 1100}}, {big, small, middle}, {"small", "big"}},
      {"of equal ones the one with less memory",
       {{"cpu", 150}},
       {middle, middle_lighter},
       {"middle-lighter"}},
      {"all together are not enough", {{"cpu", 5000}}, {big, small}, {"impossible"}},
      {"no candidates", {{"cpu", 1}}, {}, {"impossible"}},
      {"one more pod", {{"pods", 1}}, {big, none}, {"none"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(KeysOf(ChooseVictims(c.needs, c.candidates)), c.want);
  }
}

TEST(FindNeeds, AgreesWithAdmissionOnResourcesThatTheNodeDoesNotKnow) {
  const kube::Pod pod;
  const NodeDigest node{.allocatable = {{"cpu", 1000}}};
  const SysctlPolicy sysctls{"6.1.0", {}};
  for (const char* resource : {"x.kubernetes.io/y", "example.com/gpu", "hugepages-2Mi"}) {
    SCOPED_TRACE(resource);
    const PodRequests requests{.amounts = {{resource, 1}}, .ports = {}};
    const AdmissionInput input{.pod = pod,
                               .requests = requests,
                               .node = &node,
                               .pressure = {},
                               .sysctls = sysctls,
                               .node_name = ""};
    EXPECT_EQ(FindRefusal(input, {}).has_value(), !FindNeeds(input, {}).empty());
  }
}

TEST(MayPreempt, CriticalOverOthersAndHigherOverLowerPriority) {
  kube::Pod critical, high;
  critical.mutable_spec()->set_priority(2'000'000'001);
  high.mutable_spec()->set_priority(10);
  EXPECT_TRUE(MayPreempt(critical, {.critical = false}));
  EXPECT_TRUE(MayPreempt(critical, {.critical = true, .priority = 2'000'000'000}));
  EXPECT_FALSE(MayPreempt(critical, {.critical = true, .priority = 2'000'000'001}));
  EXPECT_FALSE(MayPreempt(critical, {.critical = true}));
  EXPECT_TRUE(MayPreempt(high, {.priority = 9}));
  EXPECT_FALSE(MayPreempt(high, {}));
}

TEST(NoVictims, IsToldAsTheKubeletTellsIt) {
  EXPECT_TRUE(
      NoVictimsMessage({{"cpu", 100}}).ends_with("to reclaim resources: [(res: cpu, q: 100), ]"));
}

}  // namespace
}  // namespace splitlet::sync_loop
