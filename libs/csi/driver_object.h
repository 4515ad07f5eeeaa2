#pragma once

/// The CSIDriver object of a driver. A null pointer means that the cluster has no such object.
/// Threads: pure functions, any.
/// Errors: CheckLifecycle is INVALID_ARGUMENT with the kubelet's text.
/// Source: Kubernetes API, CSIDriverSpec; kubelet csi_plugin supportsVolumeLifecycleMode.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/requests.h"
#include "libs/csi/vol_data.h"

namespace k8s::io::api::storage::v1 {
class CSIDriver;
}

namespace splitlet::csi {

using DriverObject = k8s::io::api::storage::v1::CSIDriver;

/// A volume of the driver waits for its VolumeAttachment. Also true without an object.
bool NeedsAttachment(const DriverObject* driver);
bool WantsPodInfo(const DriverObject* driver);
/// Each pod sync publishes again.
bool WantsRepublish(const DriverObject* driver);
bool SupportsSeLinuxMount(const DriverObject* driver);

/// Without an object a driver has persistent volumes only.
Status CheckLifecycle(const DriverObject* driver, const std::string& name, Lifecycle lifecycle);

enum class FsGroupPolicy { kReadWriteOnceWithFsType, kFile, kNone };
FsGroupPolicy FsGroupPolicyOf(const DriverObject* driver);

struct TokenOrder {
  std::string audience;  // empty: that of the API server
  std::optional<int64_t> expiration_seconds;
  bool operator==(const TokenOrder&) const = default;
};
std::vector<TokenOrder> TokensOf(const DriverObject* driver);
TokenPlace TokenPlaceOf(const DriverObject* driver);

/// How often the limit of volumes is read again; unset: never.
std::optional<std::chrono::seconds> AllocatablePeriod(const DriverObject* driver);

}  // namespace splitlet::csi
