#include "services/status/api/node/node_volumes.h"

#include <set>

#include "k8s.io/api/core/v1/node.pb.h"

namespace splitlet::status {
namespace {

template <class Names>
std::vector<std::string> SortedAndUnique(const Names& names) {
  const std::set<std::string> sorted(names.begin(), names.end());
  return {sorted.begin(), sorted.end()};
}

}  // namespace

std::optional<std::vector<std::string>> VolumesInUse(const v1::WorkerRecord* worker) {
  if (worker == nullptr || !worker->node().volumes_known()) return std::nullopt;
  return SortedAndUnique(worker->node().volumes_in_use());
}

std::vector<std::string> ShownVolumesInUse(const kube::Node& node) {
  return SortedAndUnique(node.status().volumes_in_use());
}

}  // namespace splitlet::status
