#pragma once

/// The resources that a pod requests, and their sum over the pods that hold resources.
/// Threads: values; one at a time.
/// Errors: INVALID_ARGUMENT for a quantity that cannot be parsed.
/// Units: cpu in millicores, all others in whole units, rounded up per pod as a scheduler does.
/// Source: docs/behaviour/admission.md, "The checks"; docs/behaviour/resources.md.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::sync_loop {

using Amounts = std::map<std::string, int64_t>;  // by resource

struct HostPort {
  int32_t port = 0;
  std::string protocol;  // "TCP"
  std::string ip;        // "0.0.0.0" is every address
  bool operator==(const HostPort&) const = default;
};

struct PodRequests {
  Amounts amounts;  // above zero only
  std::vector<HostPort> ports;
  bool operator==(const PodRequests&) const = default;
};

StatusOr<PodRequests> RequestsOf(const kube::Pod& pod);

/// A quantity in the unit of its resource.
StatusOr<int64_t> AmountOf(const std::string& resource, const std::string& quantity);

/// Extended resources belong to device plugins: a name with a domain of its own.
bool IsExtended(const std::string& resource);

class NodeLoad {
 public:
  /// Replaces the requests of the pod.
  void Set(const std::string& pod, PodRequests requests);
  void Erase(const std::string& pod);
  size_t pods() const { return pods_.size(); }
  int64_t Used(const std::string& resource) const;
  bool IsFree(const HostPort& port) const;
  /// The same pods with the same requests.
  bool operator==(const NodeLoad& other) const { return pods_ == other.pods_; }

 private:
  std::map<std::string, PodRequests> pods_;
  Amounts used_;
  std::map<std::pair<int32_t, std::string>, std::map<std::string, int>>
      ports_;  // port, protocol -> ip -> pods
};

}  // namespace splitlet::sync_loop
