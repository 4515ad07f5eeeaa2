#include "services/gc/protect/eviction/message.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/resources.h"
#include "libs/node/resources.h"

namespace splitlet::gc {
namespace {

using kube::Quantity;

Quantity::Format FormatOf(Starved resource) {
  const bool bytes = resource == Starved::kMemory || resource == Starved::kStorage;
  return bytes ? Quantity::Format::kBinary : Quantity::Format::kDecimal;
}

std::optional<int64_t> UsedBy(Starved resource, const ContainerUsage& usage, const PodUsage& pod) {
  if (resource == Starved::kMemory && pod.has_memory) return usage.memory_bytes;
  if (resource == Starved::kStorage && pod.has_disk) return usage.layer.bytes + usage.logs.bytes;
  return std::nullopt;
}

/// A pod or container that uses more than it requests.
struct Offender {
  std::string name;
  Quantity used, request;
};

std::optional<Offender> OffenderIf(const std::string& name, int64_t used, const Quantity& request) {
  const Quantity amount = Quantity::FromInt(used, Quantity::Format::kBinary);
  if (amount <= request) return std::nullopt;
  return Offender{name, amount, request};
}

/// Only a pod with pod-level resources can be an offender as a whole.
std::optional<Offender> OffendingPod(const Candidate& evicted, Starved resource) {
  if (!HasPodLevelResources(*evicted.pod)) return std::nullopt;
  const bool memory = resource == Starved::kMemory && evicted.usage.has_memory;
  const bool storage = resource == Starved::kStorage && evicted.usage.has_disk;
  if (!memory && !storage) return std::nullopt;
  return OffenderIf(evicted.pod->metadata().name(),
                    memory ? evicted.usage.memory_bytes() : evicted.usage.disk(true, true).bytes,
                    RequestOf(*evicted.pod, NameOf(resource)));
}

std::optional<Offender> OffendingContainer(const kube::Container& container, Starved resource,
                                           const PodUsage& usage) {
  const auto measured = usage.containers.find(container.name());
  if (measured == usage.containers.end()) return std::nullopt;
  const auto used = UsedBy(resource, measured->second, usage);
  if (!used) return std::nullopt;
  const auto requests = kube::RequestsOf(container.resources());
  return OffenderIf(container.name(), *used,
                    requests.ok() ? kube::Of(*requests, NameOf(resource)) : Quantity());
}

/// Init containers come first.
std::vector<Offender> OffendingContainers(const Candidate& evicted, Starved resource) {
  std::vector<Offender> offenders;
  const auto add = [&](const auto& containers) {
    for (const auto& container : containers)
      if (auto offender = OffendingContainer(container, resource, evicted.usage))
        offenders.push_back(std::move(*offender));
  };
  add(evicted.pod->spec().init_containers());
  add(evicted.pod->spec().containers());
  return offenders;
}

std::string LargerConsumption(const char* kind, const Offender& who, Starved resource) {
  return fmt::format("{} {} was using {}, request is {}, has larger consumption of {}. ", kind,
                     who.name, who.used.ToString(), who.request.ToString(), NameOf(resource));
}

Starved ResourceOf(const Threshold& threshold) {
  return StarvedBy(threshold.signal).value_or(Starved::kMemory);
}

}  // namespace

std::string EvictionMessage(const Threshold& threshold, const PressureSignal* signal,
                            const Candidate& evicted) {
  const Starved resource = ResourceOf(threshold);
  std::string message = fmt::format("The node was low on resource: {}. ", NameOf(resource));
  if (signal != nullptr) {
    const auto quantity = node::ThresholdAmount(threshold.value, signal->capacity);
    if (quantity.ok() && *quantity)
      message += fmt::format("Threshold quantity: {}, available: {}. ", (*quantity)->ToString(),
                             Quantity::FromInt(signal->available, FormatOf(resource)).ToString());
  }
  if (const auto pod = OffendingPod(evicted, resource))
    message += LargerConsumption("Pod", *pod, resource);
  for (const auto& container : OffendingContainers(evicted, resource))
    message += LargerConsumption("Container", container, resource);
  return message;
}

Annotations EvictionAnnotations(const Threshold& threshold, const Candidate& evicted) {
  const Starved resource = ResourceOf(threshold);
  Annotations annotations{{"starved_resource", std::string(NameOf(resource))}};
  if (const auto pod = OffendingPod(evicted, resource)) {
    annotations["offending_pod"] = pod->name;
    annotations["offending_pod_usage"] = pod->used.ToString();
  }
  std::vector<std::string> names, usages;
  for (const auto& container : OffendingContainers(evicted, resource)) {
    names.push_back(container.name);
    usages.push_back(container.used.ToString());
  }
  annotations["offending_containers"] = fmt::format("{}", fmt::join(names, ","));
  annotations["offending_containers_usage"] = fmt::format("{}", fmt::join(usages, ","));
  return annotations;
}

}  // namespace splitlet::gc
