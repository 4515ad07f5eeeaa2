#include "libs/kube/resources.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {
namespace {

template <class Map>
StatusOr<Resources> Parse(const Map& amounts) {
  Resources parsed;
  for (const auto& [name, amount] : amounts) {
    ASSIGN_OR_RETURN(parsed[name], Quantity::Parse(amount.string()), "resource {}", name);
  }
  return parsed;
}

using Part = StatusOr<Resources> (*)(const ResourceRequirements&);

/// The highest use at any time: all containers with all sidecars, or one init container with the
/// sidecars before it.
StatusOr<Resources> Aggregate(const PodSpec& spec, Part part) {
  Resources running, sidecars, most;
  for (const Container& container : spec.containers()) {
    ASSIGN_OR_RETURN(const auto own, part(container.resources()), "container {}", container.name());
    AddTo(running, own);
  }
  for (const Container& init : spec.init_containers()) {
    ASSIGN_OR_RETURN(auto own, part(init.resources()), "init container {}", init.name());
    if (IsSidecar(init)) {
      AddTo(running, own);
      AddTo(sidecars, own);
      MaxInto(most, sidecars);
    } else {
      AddTo(own, sidecars);
      MaxInto(most, own);
    }
  }
  MaxInto(most, running);
  return most;
}

StatusOr<Resources> WithPodLevel(const Pod& pod, Part part) {
  ASSIGN_OR_RETURN(auto sum, Aggregate(pod.spec(), part), "resources of containers");
  ASSIGN_OR_RETURN(const auto own, part(pod.spec().resources()), "resources of the pod");
  for (const auto& [name, amount] : own)
    if (IsPodLevelResource(name)) sum[name] = amount;
  return sum;
}

/// Only cpu and memory above zero count.
Resources Counted(const Resources& all) {
  Resources counted;
  for (const auto name : {kCpu, kMemory}) {
    const Quantity amount = Of(all, name);
    if (amount > Quantity()) counted[std::string(name)] = amount;
  }
  return counted;
}

struct QosInput {
  Resources requests, limits;
  bool all_limited = true;
};

Status AddQos(const ResourceRequirements& requirements, QosInput& input) {
  ASSIGN_OR_RETURN(const auto requests, RequestsOf(requirements), "requests");
  ASSIGN_OR_RETURN(const auto limits, LimitsOf(requirements), "limits");
  AddTo(input.requests, Counted(requests));
  const Resources counted = Counted(limits);
  if (counted.size() < 2) input.all_limited = false;
  AddTo(input.limits, counted);
  return OkStatus();
}

}  // namespace

StatusOr<Resources> RequestsOf(const ResourceRequirements& requirements) {
  return Parse(requirements.requests());
}

StatusOr<Resources> LimitsOf(const ResourceRequirements& requirements) {
  return Parse(requirements.limits());
}

void AddTo(Resources& sum, const Resources& more) {
  for (const auto& [name, amount] : more) sum[name] += amount;
}

void MaxInto(Resources& most, const Resources& other) {
  for (const auto& [name, amount] : other) {
    const auto [it, added] = most.emplace(name, amount);
    if (!added) it->second = std::max(it->second, amount);
  }
}

Quantity Of(const Resources& resources, std::string_view name) {
  const auto it = resources.find(std::string(name));
  return it == resources.end() ? Quantity() : it->second;
}

bool IsPodLevelResource(std::string_view name) {
  return name == kCpu || name == kMemory ||
         name.substr(0, kHugePagesPrefix.size()) == kHugePagesPrefix;
}

StatusOr<Resources> ContainersRequests(const Pod& pod) { return Aggregate(pod.spec(), RequestsOf); }

StatusOr<Resources> PodRequests(const Pod& pod) {
  ASSIGN_OR_RETURN(auto sum, WithPodLevel(pod, RequestsOf), "requests");
  ASSIGN_OR_RETURN(const auto overhead, Parse(pod.spec().overhead()), "overhead");
  AddTo(sum, overhead);
  return sum;
}

StatusOr<Resources> PodLimits(const Pod& pod) {
  ASSIGN_OR_RETURN(auto sum, WithPodLevel(pod, LimitsOf), "limits");
  ASSIGN_OR_RETURN(const auto overhead, Parse(pod.spec().overhead()), "overhead");
  for (auto& [name, limit] : sum) limit += Of(overhead, name);
  return sum;
}

std::string_view Name(QosClass qos) {
  switch (qos) {
    case QosClass::kBestEffort: return "BestEffort";
    case QosClass::kBurstable: return "Burstable";
    case QosClass::kGuaranteed: return "Guaranteed";
  }
  UNREACHABLE();
}

StatusOr<QosClass> QosOf(const Pod& pod) {
  const std::string& known = pod.status().qos_class();
  for (const auto qos : {QosClass::kBestEffort, QosClass::kBurstable, QosClass::kGuaranteed})
    if (known == Name(qos)) return qos;
  return ComputeQos(pod);
}

StatusOr<QosClass> ComputeQos(const Pod& pod) {
  QosInput input;
  const auto& own = pod.spec().resources();
  if (own.requests_size() > 0 || own.limits_size() > 0) {
    RETURN_IF_ERROR(AddQos(own, input), "pod");
  } else {
    for (const Container& container : pod.spec().containers())
      RETURN_IF_ERROR(AddQos(container.resources(), input), "container {}", container.name());
    for (const Container& init : pod.spec().init_containers())
      RETURN_IF_ERROR(AddQos(init.resources(), input), "init container {}", init.name());
  }
  if (input.requests.empty() && input.limits.empty()) return QosClass::kBestEffort;
  const bool equal = input.requests == input.limits;
  return input.all_limited && equal ? QosClass::kGuaranteed : QosClass::kBurstable;
}

}  // namespace splitlet::kube
