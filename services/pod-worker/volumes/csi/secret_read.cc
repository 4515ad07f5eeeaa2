#include "services/pod-worker/volumes/csi/secret_read.h"

#include "k8s.io/api/core/v1/config.pb.h"

namespace splitlet::pod_worker {

StatusOr<csi::StringMap> SecretFor(std::string_view field, const csi::SecretName& name,
                                   const StatusOr<ObjectPtr<Secret>>& read) {
  if (!read.ok())
    return MakeStatus(read.status().code(),
                      "fetching {0} {1}/{2} failed: kubernetes.io/csi: failed to find the secret "
                      "{2} in the namespace {1} with error: {3}",
                      field, name.namespace_, name.name, Message(read.status()));
  csi::StringMap values;
  for (const auto& [key, value] : (*read)->data()) values[key] = std::string(value);
  return values;
}

}  // namespace splitlet::pod_worker
