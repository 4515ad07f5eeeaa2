#include "libs/csi/driver_object.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "k8s.io/api/storage/v1/storage.pb.h"

namespace splitlet::csi {
namespace {

using Spec = k8s::io::api::storage::v1::CSIDriverSpec;

const Spec& SpecOf(const DriverObject* driver) {
  return driver == nullptr ? Spec::default_instance() : driver->spec();
}

/// The default that an API server writes.
std::vector<std::string> LifecyclesOf(const DriverObject& driver) {
  const auto& modes = driver.spec().volume_lifecycle_modes();
  if (modes.empty()) return {std::string(LifecycleName(Lifecycle::kPersistent))};
  return {modes.begin(), modes.end()};
}

}  // namespace

bool NeedsAttachment(const DriverObject* driver) {
  const Spec& spec = SpecOf(driver);
  return !spec.has_attach_required() || spec.attach_required();
}

bool WantsPodInfo(const DriverObject* driver) { return SpecOf(driver).pod_info_on_mount(); }

bool WantsRepublish(const DriverObject* driver) { return SpecOf(driver).requires_republish(); }

bool SupportsSeLinuxMount(const DriverObject* driver) { return SpecOf(driver).se_linux_mount(); }

Status CheckLifecycle(const DriverObject* driver, const std::string& name, Lifecycle lifecycle) {
  const std::string_view wanted = LifecycleName(lifecycle);
  if (driver == nullptr) {
    if (lifecycle == Lifecycle::kPersistent) return OkStatus();
    return InvalidArgument("volume mode \"{}\" not supported by driver {} (no CSIDriver object)",
                           wanted, name);
  }
  const auto supported = LifecyclesOf(*driver);
  if (std::find(supported.begin(), supported.end(), wanted) != supported.end()) return OkStatus();
  return InvalidArgument("volume mode \"{}\" not supported by driver {} (only supports [\"{}\"])",
                         wanted, name, fmt::join(supported, "\" \""));
}

FsGroupPolicy FsGroupPolicyOf(const DriverObject* driver) {
  const std::string& policy = SpecOf(driver).fs_group_policy();
  if (policy == "File") return FsGroupPolicy::kFile;
  if (policy == "None") return FsGroupPolicy::kNone;
  return FsGroupPolicy::kReadWriteOnceWithFsType;
}

std::vector<TokenOrder> TokensOf(const DriverObject* driver) {
  std::vector<TokenOrder> orders;
  for (const auto& request : SpecOf(driver).token_requests()) {
    TokenOrder order{.audience = request.audience()};
    if (request.has_expiration_seconds()) order.expiration_seconds = request.expiration_seconds();
    orders.push_back(std::move(order));
  }
  return orders;
}

TokenPlace TokenPlaceOf(const DriverObject* driver) {
  return SpecOf(driver).service_account_token_in_secrets() ? TokenPlace::kSecrets
                                                           : TokenPlace::kVolumeContext;
}

std::optional<std::chrono::seconds> AllocatablePeriod(const DriverObject* driver) {
  const Spec& spec = SpecOf(driver);
  if (spec.node_allocatable_update_period_seconds() <= 0) return std::nullopt;
  return std::chrono::seconds{spec.node_allocatable_update_period_seconds()};
}

}  // namespace splitlet::csi
