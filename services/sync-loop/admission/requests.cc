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

StatusOr<Claim> ClaimOf(const kube::Pod& pod) {
  Claim claim;
  ASSIGN_OR_RETURN(const auto requests, kube::PodRequests(pod), "requests");
  for (const auto& [resource, quantity] : requests) {
    const int64_t amount = InUnit(resource, quantity);
    if (amount > 0) claim.requests[resource] = amount;
  }
  for (const auto& container : pod.spec().containers()) AddPorts(container, claim.ports);
  for (const auto& container : pod.spec().init_containers()) {
    if (kube::IsSidecar(container)) AddPorts(container, claim.ports);
  }
  return claim;
}

bool IsExtended(const std::string& resource) {
  return resource.find('/') != std::string::npos &&
         resource.find("kubernetes.io/") == std::string::npos;
}

StatusOr<int64_t> AmountOf(const std::string& resource, const std::string& quantity) {
  ASSIGN_OR_RETURN(const auto parsed, kube::Quantity::Parse(quantity), "{}", resource);
  return InUnit(resource, parsed);
}

void NodeLoad::Set(const std::string& pod, Claim claim) {
  Erase(pod);
  for (const auto& [resource, amount] : claim.requests) used_[resource] += amount;
  for (const HostPort& port : claim.ports) ++ports_[{port.port, port.protocol}][port.ip];
  claims_[pod] = std::move(claim);
}

void NodeLoad::Erase(const std::string& pod) {
  const auto it = claims_.find(pod);
  if (it == claims_.end()) return;
  for (const auto& [resource, amount] : it->second.requests) used_[resource] -= amount;
  for (const HostPort& port : it->second.ports) {
    auto& by_ip = ports_[{port.port, port.protocol}];
    if (--by_ip[port.ip] == 0) by_ip.erase(port.ip);
    if (by_ip.empty()) ports_.erase({port.port, port.protocol});
  }
  claims_.erase(it);
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
