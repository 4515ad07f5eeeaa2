#include "services/status/pods/resize.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "k8s.io/api/core/v1/container_status.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::status {
namespace {

using Amounts = std::map<std::string, std::string>;

template <class Quantities>
void Set(const Amounts& from, Quantities& to) {
  for (const auto& [name, amount] : from) to[name].set_string(amount);
}

template <class Quantities>
Amounts Of(const Quantities& amounts) {
  Amounts out;
  for (const auto& [name, amount] : amounts) out[name] = amount.string();
  return out;
}

struct Asked {
  Amounts requests, limits;
};

kube::Pod PodOf(const Asked& asked, int64_t generation = 2) {
  kube::Pod pod;
  pod.mutable_metadata()->set_generation(generation);
  auto& container = *pod.mutable_spec()->add_containers();
  container.set_name("a");
  Set(asked.requests, *container.mutable_resources()->mutable_requests());
  Set(asked.limits, *container.mutable_resources()->mutable_limits());
  return pod;
}

kube::PodStatus StatusOf(const Asked& shown) {
  kube::PodStatus status;
  auto& container = *status.add_container_statuses();
  container.set_name("a");
  Set(shown.requests, *container.mutable_allocated_resources());
  Set(shown.requests, *container.mutable_resources()->mutable_requests());
  Set(shown.limits, *container.mutable_resources()->mutable_limits());
  return status;
}

TEST(TakeAllocated, WhatIsAResize) {
  const Asked had = {{{"cpu", "100m"}}, {{"cpu", "200m"}, {"memory", "64Mi"}}};
  const struct {
    const char* name;
    Asked asked;
    bool want;
  } kCases[] = {
      {"as it was", had, false},
      {"the same amounts in other words",
       {{{"cpu", "0.1"}}, {{"cpu", "0.2"}, {"memory", "65536Ki"}}},
       false},
      {"another request", {{{"cpu", "150m"}}, had.limits}, true},
      {"another limit", {had.requests, {{"cpu", "300m"}, {"memory", "64Mi"}}}, true},
      {"less memory", {had.requests, {{"cpu", "200m"}, {"memory", "32Mi"}}}, true},
      {"a limit as the runtime rounds it",
       {had.requests, {{"cpu", "201m"}, {"memory", "67108900"}}},
       false},
      {"a request that is new", {{{"cpu", "100m"}, {"memory", "1Mi"}}, had.limits}, true},
      {"a limit that is gone", {had.requests, {{"cpu", "200m"}}}, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = PodOf(c.asked);
    EXPECT_EQ(TakeAllocated(StatusOf(had), 0, pod), c.want);
    if (!c.want) continue;
    EXPECT_EQ(Of(pod.spec().containers(0).resources().requests()), had.requests);
    EXPECT_EQ(Of(pod.spec().containers(0).resources().limits()), had.limits);
  }
}

TEST(TakeAllocated, OfWhatWasNeverToldOrNeverChangedNothingIsKnown) {
  const Asked had = {{{"cpu", "1"}}, {}}, now = {{{"cpu", "2"}}, {}};
  kube::Pod new_pod = PodOf(now), first = PodOf(now, 1);
  EXPECT_FALSE(TakeAllocated({}, 0, new_pod));
  EXPECT_FALSE(TakeAllocated(StatusOf(had), 0, first));
  kube::PodStatus waiting = StatusOf(had);
  waiting.mutable_container_statuses(0)->clear_resources();
  EXPECT_FALSE(TakeAllocated(waiting, 0, new_pod));
  EXPECT_EQ(new_pod.spec().containers(0).resources().requests().at("cpu").string(), "2");
}

TEST(TakeAllocated, OfAnEarlierAdmissionNothingStands) {
  constexpr int64_t kAdmitted = 1'000'500'000'000;
  const Asked had = {{{"cpu", "1"}}, {}}, now = {{{"cpu", "2"}}, {}};
  const struct {
    const char* name;
    int64_t running, ended, ended_before;  // when it began, in seconds
    bool want;
  } kCases[] = {
      {"runs since an earlier boot", 999, 0, 0, false},
      {"has ended with an earlier boot", 0, 999, 0, false},
      {"waits, and ran in an earlier boot", 0, 0, 999, false},
      {"began in the second of the admission", 1000, 0, 0, true},
      {"began again after it", 0, 1001, 999, true},
      {"never began", 0, 0, 0, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::PodStatus shown = StatusOf(had);
    auto& container = *shown.mutable_container_statuses(0);
    if (c.running > 0)
      container.mutable_state()->mutable_running()->mutable_started_at()->set_seconds(c.running);
    if (c.ended > 0)
      container.mutable_state()->mutable_terminated()->mutable_started_at()->set_seconds(c.ended);
    if (c.ended_before > 0)
      container.mutable_last_state()->mutable_terminated()->mutable_started_at()->set_seconds(
          c.ended_before);
    kube::Pod pod = PodOf(now);
    EXPECT_EQ(TakeAllocated(shown, kAdmitted, pod), c.want);
  }
}

}  // namespace
}  // namespace splitlet::status
