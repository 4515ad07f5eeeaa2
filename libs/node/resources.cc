#include "libs/node/resources.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace splitlet::node {
namespace {

StatusOr<kube::Resources> ParseAll(const std::map<std::string, std::string>& amounts) {
  kube::Resources parsed;
  for (const auto& [name, text] : amounts) {
    ASSIGN_OR_RETURN(parsed[name], kube::Quantity::Parse(text), "{}", name);
  }
  return parsed;
}

/// Number of the named CPUs, all of which must exist.
StatusOr<int64_t> CountReserved(const Machine& machine, const NodeLimits& limits) {
  ASSIGN_OR_RETURN(const std::set<int64_t> reserved, ParseCpuList(limits.reserved_cpus), "list");
  for (const int64_t cpu : reserved)
    if (!machine.online.contains(cpu)) return InvalidArgument("CPU {} is not online", cpu);
  return static_cast<int64_t>(reserved.size());
}

StatusOr<kube::Resources> Reserved(const Machine& machine, const NodeLimits& limits) {
  ASSIGN_OR_RETURN(auto reserved, ParseAll(limits.system_reserved), "systemReserved");
  ASSIGN_OR_RETURN(const auto kube_reserved, ParseAll(limits.kube_reserved), "kubeReserved");
  kube::AddTo(reserved, kube_reserved);
  if (!limits.reserved_cpus.empty()) {
    ASSIGN_OR_RETURN(const int64_t count, CountReserved(machine, limits), "reservedSystemCPUs");
    reserved[std::string(kube::kCpu)] = kube::Quantity::FromInt(count);
  }
  const struct {
    const char* signal;
    std::string_view resource;
    int64_t capacity;
  } kSignals[] = {{"memory.available", kube::kMemory, machine.memory_bytes},
                  {"nodefs.available", kube::kEphemeralStorage, machine.storage_bytes}};
  for (const auto& signal : kSignals) {
    const auto it = limits.eviction_hard.find(signal.signal);
    if (it == limits.eviction_hard.end()) continue;
    ASSIGN_OR_RETURN(const auto amount, ThresholdAmount(it->second, signal.capacity),
                     "evictionHard: {}", signal.signal);
    if (amount) reserved[std::string(signal.resource)] += *amount;
  }
  return reserved;
}

}  // namespace

StatusOr<std::optional<kube::Quantity>> ThresholdAmount(const std::string& threshold,
                                                        int64_t capacity) {
  if (!threshold.ends_with('%')) {
    ASSIGN_OR_RETURN(const auto quantity, kube::Quantity::Parse(threshold), "threshold");
    return std::optional(quantity);
  }
  float percent = 0;
  const char* const last = threshold.data() + threshold.size() - 1;
  const auto [end, error] = std::from_chars(threshold.data(), last, percent);
  if (error != std::errc() || end != last || !(percent >= 0 && percent <= 100))
    return InvalidArgument("\"{}\" is not a percentage", threshold);
  if (percent == 0 || percent == 100) return std::optional<kube::Quantity>();
  // Single precision and truncation give the same values as a kubelet.
  const float fraction = percent / 100;
  return std::optional(kube::Quantity::FromInt(
      static_cast<int64_t>(static_cast<double>(capacity) * static_cast<double>(fraction)),
      kube::Quantity::Format::kBinary));
}

StatusOr<NodeResources> ComputeNodeResources(const Machine& machine, const NodeLimits& limits) {
  using kube::Quantity;
  constexpr auto kBinary = Quantity::Format::kBinary;
  NodeResources node;
  auto& capacity = node.capacity;
  capacity[std::string(kube::kCpu)] = Quantity::FromInt(machine.cpus);
  capacity[std::string(kube::kMemory)] = Quantity::FromInt(machine.memory_bytes, kBinary);
  capacity["pods"] = Quantity::FromInt(
      limits.pods_per_core > 0 ? std::min(limits.max_pods, machine.cpus * limits.pods_per_core)
                               : limits.max_pods);
  if (machine.storage_bytes > 0)
    capacity[std::string(kube::kEphemeralStorage)] =
        Quantity::FromInt(machine.storage_bytes, kBinary);
  Quantity huge;
  for (const HugePages& pages : machine.huge_pages) {
    capacity[pages.resource] = Quantity::FromInt(pages.bytes, kBinary);
    huge += capacity[pages.resource];
  }
  ASSIGN_OR_RETURN(const auto reserved, Reserved(machine, limits), "reservations");
  for (const auto& [name, total] : capacity) {
    const Quantity held = kube::Of(reserved, name);
    if (held > total)
      return InvalidArgument(
          "invalid Node Allocatable configuration. Resource \"{}\" has a reservation of {} but "
          "capacity of {}. Expected capacity >= reservation.",
          name, held.ToString(), total.ToString());
    node.allocatable[name] = total - held;
  }
  auto& memory = node.allocatable[std::string(kube::kMemory)];
  memory = std::max(memory - huge, Quantity::FromInt(0, kBinary));
  return node;
}

}  // namespace splitlet::node
