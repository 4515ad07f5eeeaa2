#include "services/pod-worker/drivers/driver_rules.h"

#include "libs/base/text.h"
#include "libs/csi/names.h"
#include "libs/kube/names.h"

namespace splitlet::pod_worker {
namespace {

constexpr std::string_view kUnixScheme = "unix://";
/// Limits a text of the plugin in an error: the plugin may send 64 versions of 256 bytes.
constexpr size_t kMaxShown = 1024;

std::string Shown(std::string_view text) { return ToText(text, kMaxShown); }

}  // namespace

StatusOr<std::string> SocketOf(std::string_view endpoint) {
  std::string_view path = endpoint;
  if (path.starts_with(kUnixScheme)) path.remove_prefix(kUnixScheme.size());
  if (path.size() > plugins::kMaxSocketPath)
    return InvalidArgument("the endpoint has {} bytes, the address of a unix socket takes {}",
                           path.size(), plugins::kMaxSocketPath);
  if (!path.starts_with('/'))
    return InvalidArgument("the endpoint \"{}\" is not an absolute path", Shown(endpoint));
  if (kube::HasParentStep(path))
    return InvalidArgument("the endpoint \"{}\" contains \"..\"", Shown(endpoint));
  return std::string(path);
}

StatusOr<plugins::DriverVersion> ChooseVersion(std::string_view caller,
                                               const plugins::Plugin& plugin,
                                               const plugins::DriverVersion* registered) {
  const std::string failed =
      fmt::format("kubernetes.io/csi: {} for CSI driver \"{}\" failed.", caller, plugin.name);
  if (plugin.versions.empty())
    return InvalidArgument("{} Plugin returned an empty list for supported versions", failed);
  auto version = plugins::HighestCsiVersion(plugin.versions);
  if (!version.ok())
    return InvalidArgument("{} None of the versions specified {} are supported. err={}", failed,
                           Shown(plugins::QuotedList(plugin.versions)),
                           Shown(Message(version.status())));
  if (registered != nullptr && *registered >= *version)
    return InvalidArgument(
        "{} Another driver with the same name is already registered with a higher supported "
        "version: \"{}\"",
        failed, registered->ToText());
  return version;
}

Status CheckDriver(const plugins::Plugin& plugin, const plugins::DriverVersion* registered) {
  Status wrong;
  if (const std::string name = csi::CheckDriverName(plugin.name); !name.empty())
    wrong = InvalidArgument("{}", name);
  if (wrong.ok()) wrong = SocketOf(plugin.endpoint).status();
  if (wrong.ok()) wrong = ChooseVersion("ValidatePlugin", plugin, registered).status();
  if (wrong.ok()) return wrong;
  return MakeStatus(wrong.code(), "validation failed for CSI Driver {} at endpoint {}: {}",
                    Shown(plugin.name), Shown(plugin.endpoint), Message(wrong));
}

}  // namespace splitlet::pod_worker
