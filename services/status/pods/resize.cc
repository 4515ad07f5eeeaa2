#include "services/status/pods/resize.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"

namespace splitlet::status {
namespace {

// What a runtime shows of a limit is in whole milli CPUs and pages.
constexpr int64_t kCpuStepMillis = 10, kMemoryStepBytes = 4096;

/// `inexact`: of a limit, as the runtime has it.
bool IsSame(const std::string& name, const std::string& a, const std::string& b, bool inexact) {
  if (a == b) return true;
  const auto x = kube::Quantity::Parse(a), y = kube::Quantity::Parse(b);
  if (!x.ok() || !y.ok()) return false;
  if (!inexact) return *x == *y;
  if (name == kube::kCpu) return std::llabs(x->MilliValue() - y->MilliValue()) < kCpuStepMillis;
  return std::llabs(x->Value() - y->Value()) < kMemoryStepBytes;
}

template <class Quantities>
bool AreSame(const Quantities& a, const Quantities& b, bool inexact) {
  if (a.size() != b.size()) return false;
  return std::ranges::all_of(a, [&b, inexact](const auto& amount) {
    const auto other = b.find(amount.first);
    return other != b.end() &&
           IsSame(amount.first, amount.second.string(), other->second.string(), inexact);
  });
}

template <class Statuses, class Containers>
bool TakeFrom(const Statuses& statuses, Containers& containers) {
  bool differ = false;
  for (auto& container : containers) {
    const auto told = std::ranges::find_if(
        statuses, [&container](const auto& status) { return status.name() == container.name(); });
    if (told == statuses.end() || !told->has_resources()) continue;
    auto& asked = *container.mutable_resources();
    const auto& limits = told->resources().limits();
    if (AreSame(asked.requests(), told->allocated_resources(), false) &&
        AreSame(asked.limits(), limits, true))
      continue;
    differ = true;
    *asked.mutable_requests() = told->allocated_resources();
    *asked.mutable_limits() = limits;
  }
  return differ;
}

}  // namespace

bool TakeAllocated(const kube::PodStatus& previous, kube::Pod& pod) {
  // The server counts changes from one on.
  if (pod.metadata().generation() <= 1) return false;
  auto& spec = *pod.mutable_spec();
  const bool regular = TakeFrom(previous.container_statuses(), *spec.mutable_containers());
  const bool init = TakeFrom(previous.init_container_statuses(), *spec.mutable_init_containers());
  return regular || init;
}

}  // namespace splitlet::status
