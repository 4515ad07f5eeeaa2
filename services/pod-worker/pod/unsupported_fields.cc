#include "services/pod-worker/pod/unsupported_fields.h"

#include <fmt/ranges.h>

#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

std::string UnsupportedFields(const kube::Pod& pod) {
  std::vector<std::string> fields;
  if (pod.spec().resource_claims_size() > 0) fields.emplace_back("resourceClaims");
  if (fields.empty()) return "";
  return fmt::format("pod: {} {} not carried out by this version", fmt::join(fields, ", "),
                     fields.size() == 1 ? "is" : "are");
}

}  // namespace splitlet::pod_worker
