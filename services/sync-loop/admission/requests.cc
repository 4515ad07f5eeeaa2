#include "services/sync-loop/admission/requests.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"

namespace splitlet::sync_loop {
namespace {

constexpr const char* kEveryAddress = "0.0.0.0";

int64_t InUnit(const std::string& resource, const kube::Quantity& quantity) {
  return resource == kube::kCpu ? quantity.MilliValue() : quantity.Value();
}

void AddPorts(const kube::Container& container, std::vector<HostPort>& ports) {
  for (const auto& port : container.ports()) {
    if (port.host_port() <= 0) continue;
    ports.push_back({.port = port.host_port(),
                     .protocol = port.protocol().empty() ? "TCP" : port.protocol(),
                     .ip = port.host_ip().empty() ? kEveryAddress : port.host_ip()});
  }
}

}  // namespace

StatusOr<PodRequests> RequestsOf(const kube::Pod& pod) {
  PodRequests requests;
  ASSIGN_OR_RETURN(const auto quantities, kube::PodRequests(pod), "requests");
  for (const auto& [resource, quantity] : quantities) {
    const int64_t amount = InUnit(resource, quantity);
    if (amount > 0) requests.amounts[resource] = amount;
  }
  for (const auto& container : pod.spec().containers()) AddPorts(container, requests.ports);
  for (const auto& container : pod.spec().init_containers()) {
    if (kube::IsSidecar(container)) AddPorts(container, requests.ports);
  }
  return requests;
}

bool IsExtended(const std::string& resource) {
  return resource.find('/') != std::string::npos &&
         resource.find("kubernetes.io/") == std::string::npos;
}

StatusOr<int64_t> AmountOf(const std::string& resource, const std::string& quantity) {
  ASSIGN_OR_RETURN(const auto parsed, kube::Quantity::Parse(quantity), "{}", resource);
  return InUnit(resource, parsed);
}

void NodeLoad::Set(const std::string& pod, PodRequests requests) {
  Erase(pod);
  for (const auto& [resource, amount] : requests.amounts) used_[resource] += amount;
  for (const HostPort& port : requests.ports) ++ports_[{port.port, port.protocol}][port.ip];
  pods_[pod] = std::move(requests);
}

void NodeLoad::Erase(const std::string& pod) {
  const auto it = pods_.find(pod);
  if (it == pods_.end()) return;
  for (const auto& [resource, amount] : it->second.amounts) used_[resource] -= amount;
  for (const HostPort& port : it->second.ports) {
    auto& by_ip = ports_[{port.port, port.protocol}];
    if (--by_ip[port.ip] == 0) by_ip.erase(port.ip);
    if (by_ip.empty()) ports_.erase({port.port, port.protocol});
  }
  pods_.erase(it);
}

int64_t NodeLoad::Used(const std::string& resource) const {
  const auto it = used_.find(resource);
  return it == used_.end() ? 0 : it->second;
}

bool NodeLoad::IsFree(const HostPort& port) const {
  const auto it = ports_.find({port.port, port.protocol});
  if (it == ports_.end()) return true;
  return port.ip != kEveryAddress && !it->second.contains(kEveryAddress) &&
         !it->second.contains(port.ip);
}

}  // namespace splitlet::sync_loop
