#include "services/pod-worker/cgroups/pod_limits.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/resources.pb.h"

namespace splitlet::pod_worker {
namespace {

using Amounts = std::map<std::string, std::string>;

void Set(kube::ResourceRequirements& resources, const Amounts& requests, const Amounts& limits) {
  for (const auto& [name, amount] : requests)
    (*resources.mutable_requests())[name].set_string(amount);
  for (const auto& [name, amount] : limits) {
    (*resources.mutable_limits())[name].set_string(amount);
    if (!requests.contains(name)) (*resources.mutable_requests())[name].set_string(amount);
  }
}

struct Given {
  Amounts requests = {}, limits = {};
};

kube::Pod PodOf(const std::vector<Given>& containers, const Given& pod_level = {}) {
  kube::Pod pod;
  for (const Given& given : containers)
    Set(*pod.mutable_spec()->add_containers()->mutable_resources(), given.requests, given.limits);
  if (!pod_level.requests.empty() || !pod_level.limits.empty())
    Set(*pod.mutable_spec()->mutable_resources(), pod_level.requests, pod_level.limits);
  return pod;
}

constexpr int64_t kMebibyte = 1 << 20;
const std::vector<node::HugePages> kHuge = {{"2MB", "hugepages-2Mi", 16 * kMebibyte}};

TEST(PodCgroupLimits, ByClass) {
  const struct {
    const char* name;
    kube::Pod pod;
    std::optional<int64_t> shares, quota, memory;
  } kCases[] = {
      {"nothing asked for", PodOf({{}}), 2, {}, {}},
      {"limits alone make it Guaranteed", PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}}}}), 1024,
       100'000, 64 * kMebibyte},
      {"requests alone", PodOf({{{{"cpu", "500m"}, {"memory", "64Mi"}}, {}}}), 512, {}, {}},
      {"one container lacks the limit of memory",
       PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}}}, {{}, {{"cpu", "500m"}}}}),
       1536,
       150'000,
       {}},
      {"one lacks the limit of cpu",
       PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}}}, {{}, {{"memory", "32Mi"}}}}),
       1024,
       {},
       96 * kMebibyte},
      {"the pod's own limit is one of all",
       PodOf({{{{"cpu", "100m"}}, {}}}, {{{"cpu", "200m"}}, {{"cpu", "1"}, {"memory", "64Mi"}}}),
       204, 100'000, 64 * kMebibyte},
      {"a limit below the kernel's least", PodOf({{{}, {{"cpu", "5m"}, {"memory", "64Mi"}}}}), 5,
       1000, 64 * kMebibyte},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto limits = PodCgroupLimits({.pod = c.pod, .huge_pages = kHuge});
    ASSERT_TRUE(limits.ok()) << limits.status();
    EXPECT_EQ(limits->cpu_shares, c.shares);
    EXPECT_EQ(limits->cpu_quota_us, c.quota);
    EXPECT_EQ(limits->memory_bytes, c.memory);
    EXPECT_FALSE(limits->pids);
    EXPECT_EQ(limits->huge_pages.at("2MB"), 0);
  }
}

TEST(PodCgroupLimits, OfTheConfiguration) {
  const auto pod = PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}, {"hugepages-2Mi", "4Mi"}}}});
  const auto limits =
      PodCgroupLimits({.pod = pod, .cpu_quota = false, .pids = 100, .huge_pages = kHuge});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->cpu_quota_us, cgroup::kUnlimited);
  EXPECT_EQ(limits->pids, 100);
  EXPECT_EQ(limits->huge_pages.at("2MB"), 4 * kMebibyte);
}

TEST(PodCgroupLimits, MemoryIsKeptByClassWhereItIsAskedFor) {
  const struct {
    const char* name;
    kube::Pod pod;
    bool keep;
    std::optional<int64_t> min, low;
  } kCases[] = {
      {"Guaranteed", PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}}}}), true, 64 * kMebibyte, {}},
      {"Burstable",
       PodOf({{{{"memory", "32Mi"}}, {}}, {{{"memory", "1Mi"}}, {}}}),
       true,
       {},
       33 * kMebibyte},
      {"Burstable without a request of memory", PodOf({{{{"cpu", "1"}}, {}}}), true, {}, {}},
      {"BestEffort", PodOf({{}}), true, {}, {}},
      {"not kept", PodOf({{{}, {{"cpu", "1"}, {"memory", "64Mi"}}}}), false, {}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto limits = PodCgroupLimits({.pod = c.pod, .huge_pages = kHuge, .keep_memory = c.keep});
    ASSERT_TRUE(limits.ok()) << limits.status();
    EXPECT_EQ(limits->memory_min_bytes, c.min);
    EXPECT_EQ(limits->memory_low_bytes, c.low);
  }
}

TEST(PodCgroupLimits, OfClassesAndOfAllPods) {
  EXPECT_EQ(QosCgroupLimits(0, kHuge).cpu_shares, 2);
  EXPECT_EQ(QosCgroupLimits(1000, kHuge).cpu_shares, 1024);
  EXPECT_EQ(QosCgroupLimits(0, kHuge).huge_pages.at("2MB"), int64_t{1} << 62);
  EXPECT_FALSE(QosCgroupLimits(1000, kHuge).memory_bytes);
  const ClassRequests burstable =
      ClassRequestsOf(PodOf({{{{"cpu", "500m"}, {"memory", "2Mi"}}, {}}}));
  const ClassRequests guaranteed =
      ClassRequestsOf(PodOf({{{}, {{"cpu", "1"}, {"memory", "1Mi"}}}}));
  EXPECT_EQ(burstable,
            (ClassRequests{.burstable_millicores = 500, .burstable_memory_bytes = 2 * kMebibyte}));
  EXPECT_EQ(guaranteed, (ClassRequests{.guaranteed_memory_bytes = kMebibyte}));
  EXPECT_EQ(ClassRequestsOf(PodOf({{}})), ClassRequests{});
  ClassRequests sum = burstable;
  sum += guaranteed;
  EXPECT_EQ(sum, (ClassRequests{500, 2 * kMebibyte, kMebibyte}));
}

TEST(PodCgroupLimits, OfWhatIsReserved) {
  const std::map<std::string, std::string> given = {
      {"cpu", "500m"}, {"memory", "1Gi"}, {"pid", "100"}, {"ephemeral-storage", "1Gi"}};
  const cgroup::Limits all{.cpu_shares = 512, .memory_bytes = int64_t{1} << 30, .pids = 100};
  EXPECT_EQ(ReservedLimits(given, false).value(), all);
  EXPECT_EQ(ReservedLimits(given, true).value(), cgroup::Limits{.cpu_shares = 512});
  EXPECT_EQ(ReservedLimits({}, false).value(), cgroup::Limits{});
}

TEST(PodCgroupLimits, AllPodsTogetherMayUseWhatIsNotReserved) {
  const node::Machine machine{.cpus = 4, .memory_bytes = int64_t{16} << 30, .huge_pages = kHuge};
  const node::NodeLimits given{.system_reserved = {{"memory", "1Gi"}, {"pid", "100"}},
                               .kube_reserved = {{"memory", "1Gi"}, {"cpu", "1"}},
                               .eviction_hard = {{"memory.available", "100Mi"}}};
  const auto enforced = AllPodsLimits({.machine = machine, .limits = given, .most_pids = 1000});
  ASSERT_TRUE(enforced.ok()) << enforced.status();
  EXPECT_EQ(enforced->cpu_shares, 3 * 1024);
  EXPECT_FALSE(enforced->cpu_quota_us);
  EXPECT_EQ(enforced->memory_bytes, int64_t{14} << 30);
  EXPECT_EQ(enforced->pids, 900);
  EXPECT_EQ(enforced->huge_pages.at("2MB"), 16 * kMebibyte);
  const auto all =
      AllPodsLimits({.machine = machine, .limits = given, .enforced = false, .most_pids = 1000});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->cpu_shares, 4 * 1024);
  EXPECT_EQ(all->memory_bytes, int64_t{16} << 30);
  EXPECT_EQ(all->pids, 1000);
}

}  // namespace
}  // namespace splitlet::pod_worker
