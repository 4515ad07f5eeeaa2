#include "services/gc/eviction/message.h"

#include <fmt/format.h>

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

std::string LargerConsumption(const std::string& who, int64_t used, const Quantity& request,
                              Starved resource) {
  const Quantity amount = Quantity::FromInt(used, Quantity::Format::kBinary);
  if (amount <= request) return "";
  return fmt::format("{} was using {}, request is {}, has larger consumption of {}. ", who,
                     amount.ToString(), request.ToString(), NameOf(resource));
}

/// Of a pod with resources of its own that uses more than it requests; else empty.
std::string PodPart(const Candidate& victim, Starved resource) {
  if (!HasPodLevelResources(*victim.pod)) return "";
  const bool memory = resource == Starved::kMemory && victim.usage.has_memory;
  const bool storage = resource == Starved::kStorage && victim.usage.has_disk;
  if (!memory && !storage) return "";
  return LargerConsumption(
      "Pod " + victim.pod->metadata().name(),
      memory ? victim.usage.memory_bytes() : victim.usage.disk(true, true).bytes,
      RequestOf(*victim.pod, NameOf(resource)), resource);
}

/// Of one container that uses more than it requests; else empty.
std::string ContainerPart(const kube::Container& container, Starved resource,
                          const PodUsage& usage) {
  const auto measured = usage.containers.find(container.name());
  if (measured == usage.containers.end()) return "";
  const auto used = UsedBy(resource, measured->second, usage);
  if (!used) return "";
  const auto requests = kube::RequestsOf(container.resources());
  const Quantity request = requests.ok() ? kube::Of(*requests, NameOf(resource)) : Quantity();
  return LargerConsumption("Container " + container.name(), *used, request, resource);
}

}  // namespace

std::string EvictionMessage(const Threshold& threshold, const PressureSignal* signal,
                            const Candidate& victim) {
  const Starved resource = StarvedBy(threshold.signal).value_or(Starved::kMemory);
  std::string message = fmt::format("The node was low on resource: {}. ", NameOf(resource));
  if (signal != nullptr) {
    const auto quantity = node::ThresholdAmount(threshold.value, signal->capacity);
    if (quantity.ok() && *quantity)
      message += fmt::format("Threshold quantity: {}, available: {}. ", (*quantity)->ToString(),
                             Quantity::FromInt(signal->available, FormatOf(resource)).ToString());
  }
  message += PodPart(victim, resource);
  for (const auto& container : victim.pod->spec().init_containers())
    message += ContainerPart(container, resource, victim.usage);
  for (const auto& container : victim.pod->spec().containers())
    message += ContainerPart(container, resource, victim.usage);
  return message;
}

}  // namespace splitlet::gc
