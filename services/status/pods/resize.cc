#include "services/status/pods/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "k8s.io/api/core/v1/container_status.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/encode.h"
#include "libs/kube/json_text.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"

namespace splitlet::status {
namespace {

constexpr std::string_view kResizeWaits = "PodResizePending";
constexpr int64_t kNanosOfSecond = 1'000'000'000;
// A runtime rounds limits: a CPU quota is at least 1 ms, memory is in pages.
constexpr int64_t kCpuStepMillis = 10, kMemoryStepBytes = 4096;

/// `inexact`: a limit that the runtime may have rounded.
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

/// Start of the container in its last status, in seconds of the wall clock; 0: it never started.
int64_t StartedAt(const kube::ContainerStatus& status) {
  for (const auto* state : {&status.state(), &status.last_state()}) {
    if (state->has_running()) return state->running().started_at().seconds();
    if (state->has_terminated()) return state->terminated().started_at().seconds();
  }
  return 0;
}

template <class Statuses, class Containers>
bool TakeFrom(const Statuses& statuses, int64_t admitted_at, Containers& containers) {
  bool differ = false;
  for (auto& container : containers) {
    const auto shown = std::ranges::find_if(
        statuses, [&container](const auto& status) { return status.name() == container.name(); });
    if (shown == statuses.end() || !shown->has_resources()) continue;
    // After a reboot the pod is admitted again, with the resources that are wanted then.
    if (const int64_t started = StartedAt(*shown); started != 0 && started < admitted_at) continue;
    auto& asked = *container.mutable_resources();
    const auto& limits = shown->resources().limits();
    if (AreSame(asked.requests(), shown->allocated_resources(), false) &&
        AreSame(asked.limits(), limits, true))
      continue;
    differ = true;
    *asked.mutable_requests() = shown->allocated_resources();
    *asked.mutable_limits() = limits;
  }
  return differ;
}

const auto* FindResize(const kube::PodStatus& status) {
  const auto at = std::ranges::find(status.conditions(), kResizeWaits,
                                    [](const auto& condition) { return condition.type(); });
  return at == status.conditions().end() || at->status() != "True" ? nullptr : &*at;
}

template <class Containers>
std::string ResourcesOf(const char* name, const Containers& containers) {
  if (containers.empty()) return "";
  std::string text;
  for (const auto& container : containers) {
    text += text.empty() ? "{\"name\":" : ",{\"name\":";
    kube::AppendJsonString(text, container.name());
    text += ",\"resources\":" + kube::ToJson(container.resources()) + "}";
  }
  return fmt::format("\"{}\":[{}],", name, text);
}

}  // namespace

bool HasPendingResize(const kube::PodStatus& status) { return FindResize(status) != nullptr; }

bool IsNewResize(const kube::PodStatus* previous, const kube::PodStatus& status) {
  const auto* now = FindResize(status);
  if (now == nullptr) return false;
  const auto* before = previous == nullptr ? nullptr : FindResize(*previous);
  return before == nullptr || before->reason() != now->reason() ||
         before->observed_generation() != now->observed_generation();
}

std::string ResizeText(const kube::Pod& asked) {
  std::string text = fmt::format("Pod resize {}: {{", kResizeReason);
  text += ResourcesOf("initContainers", asked.spec().init_containers());
  text += ResourcesOf("containers", asked.spec().containers());
  text += fmt::format("\"generation\":{},\"error\":", asked.metadata().generation());
  kube::AppendJsonString(text, kResizeMessage);
  return text + "}";
}

bool TakeAllocated(const kube::PodStatus& previous, int64_t admitted_at_wall_ns, kube::Pod& pod) {
  // Generation 1 is the pod as it was created.
  if (pod.metadata().generation() <= 1) return false;
  const int64_t admitted_at = admitted_at_wall_ns / kNanosOfSecond;
  auto& spec = *pod.mutable_spec();
  const bool regular =
      TakeFrom(previous.container_statuses(), admitted_at, *spec.mutable_containers());
  const bool init =
      TakeFrom(previous.init_container_statuses(), admitted_at, *spec.mutable_init_containers());
  return regular || init;
}

}  // namespace splitlet::status
