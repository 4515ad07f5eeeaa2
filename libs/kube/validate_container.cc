#include "libs/kube/validate_container.h"

#include <algorithm>
#include <tuple>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"
#include "libs/kube/validate_env.h"
#include "libs/kube/validate_probes.h"
#include "libs/kube/validate_resources.h"
#include "libs/kube/validate_security.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

using HostPorts = std::set<std::tuple<std::string, std::string, int32_t>>;

bool IsPort(int32_t port) { return port >= 1 && port <= 65535; }

void ValidatePorts(const Container& container, bool host_network, const std::string& path,
                   FieldErrors& errors) {
  std::set<std::string> names;
  for (int i = 0; i < container.ports_size(); ++i) {
    const auto& port = container.ports(i);
    const std::string at = At(Field(path, "ports"), i);
    if (!port.name().empty()) {
      errors.Check(Field(at, "name"), port.name(), CheckPortName(port.name()));
      if (!names.insert(port.name()).second) errors.Duplicate(Field(at, "name"), port.name());
    }
    if (port.container_port() == 0) {
      errors.Required(Field(at, "containerPort"));
    } else if (!IsPort(port.container_port())) {
      errors.Invalid(Field(at, "containerPort"), port.container_port(), "is not in 1..65535");
    }
    if (port.host_port() != 0 && !IsPort(port.host_port()))
      errors.Invalid(Field(at, "hostPort"), port.host_port(), "is not in 1..65535");
    if (host_network && port.host_port() != 0 && port.host_port() != port.container_port())
      errors.Invalid(Field(at, "hostPort"), port.host_port(),
                     "must match `containerPort` when `hostNetwork` is true");
    if (port.protocol() != "TCP" && port.protocol() != "UDP" && port.protocol() != "SCTP")
      errors.Unsupported(Field(at, "protocol"), port.protocol(), {"TCP", "UDP", "SCTP"});
    if (!port.host_ip().empty() && !IsIp(port.host_ip()))
      errors.Invalid(Field(at, "hostIP"), port.host_ip(), "must be an IP address");
  }
}

void ClaimHostPorts(const Container& container, HostPorts& taken, const std::string& path,
                    FieldErrors& errors) {
  for (int i = 0; i < container.ports_size(); ++i) {
    const auto& port = container.ports(i);
    if (port.host_port() == 0) continue;
    if (!taken.emplace(port.protocol(), port.host_ip(), port.host_port()).second)
      errors.Duplicate(Field(At(Field(path, "ports"), i), "hostPort"),
                       fmt::format("{}/{}/{}", port.protocol(), port.host_ip(), port.host_port()));
  }
}

void ValidateSubPath(const std::string& value, const std::string& path, FieldErrors& errors) {
  if (!value.empty() && value.front() == '/')
    errors.Invalid(path, value, "must be a relative path");
  if (HasParentStep(value)) errors.Invalid(path, value, "must not contain '..'");
}

void ValidateMount(const core::VolumeMount& mount, const Container& container,
                   const std::string& at, FieldErrors& errors) {
  if (!mount.sub_path().empty() && !mount.sub_path_expr().empty())
    errors.Invalid(Field(at, "subPathExpr"), mount.sub_path_expr(),
                   "subPathExpr and subPath are mutually exclusive");
  ValidateSubPath(mount.sub_path(), Field(at, "subPath"), errors);
  ValidateSubPath(mount.sub_path_expr(), Field(at, "subPathExpr"), errors);
  const std::string& propagation = mount.mount_propagation();
  if (!propagation.empty() && propagation != "None" && propagation != "HostToContainer" &&
      propagation != "Bidirectional")
    errors.Unsupported(Field(at, "mountPropagation"), propagation,
                       {"Bidirectional", "HostToContainer", "None"});
  if (propagation == "Bidirectional" && !container.security_context().privileged())
    errors.Forbidden(Field(at, "mountPropagation"),
                     "Bidirectional mount propagation is available only to privileged containers");
  const std::string& recursive = mount.recursive_read_only();
  if (recursive.empty() || recursive == "Disabled") return;
  if (recursive != "Enabled" && recursive != "IfPossible")
    return errors.Unsupported(Field(at, "recursiveReadOnly"), recursive,
                              {"Disabled", "Enabled", "IfPossible"});
  if (!mount.read_only())
    errors.Forbidden(Field(at, "recursiveReadOnly"), "may only be specified when readOnly is true");
  if (!propagation.empty() && propagation != "None")
    errors.Forbidden(Field(at, "recursiveReadOnly"),
                     "may only be specified when mountPropagation is None or not specified");
}

bool IsBlockSource(const ValidationContext& context, const std::string& volume) {
  const auto& volumes = context.pod.spec().volumes();
  return std::any_of(volumes.begin(), volumes.end(), [&volume](const Volume& candidate) {
    const auto& source = candidate.volume_source();
    return candidate.name() == volume &&
           (source.has_persistent_volume_claim() || source.has_ephemeral());
  });
}

void ValidateDevices(const Container& container, const ValidationContext& context,
                     const std::string& path, FieldErrors& errors) {
  std::set<std::string> seen, names, mounted;
  for (const auto& mount : container.volume_mounts()) mounted.insert(mount.name());
  for (int i = 0; i < container.volume_devices_size(); ++i) {
    const auto& device = container.volume_devices(i);
    const std::string at = At(Field(path, "volumeDevices"), i);
    if (device.name().empty()) {
      errors.Required(Field(at, "name"));
    } else if (context.volumes.count(device.name()) == 0) {
      errors.NotFound(Field(at, "name"), device.name());
    } else if (!IsBlockSource(context, device.name())) {
      errors.Invalid(Field(at, "name"), device.name(),
                     "can only be a volume of type persistentVolumeClaim or ephemeral");
    }
    if (!names.insert(device.name()).second)
      errors.Invalid(Field(at, "name"), device.name(), "must be unique");
    if (mounted.contains(device.name()))
      errors.Invalid(Field(at, "name"), device.name(), "must not already exist in volumeMounts");
    if (device.device_path().empty()) errors.Required(Field(at, "devicePath"));
    if (HasParentStep(device.device_path()))
      errors.Invalid(Field(at, "devicePath"), device.device_path(), "must not contain '..'");
    if (!seen.insert(device.device_path()).second)
      errors.Invalid(Field(at, "devicePath"), device.device_path(), "must be unique");
  }
}

void ValidateMounts(const Container& container, const ValidationContext& context,
                    const std::string& path, FieldErrors& errors) {
  std::set<std::string> paths, devices;
  for (const auto& device : container.volume_devices()) devices.insert(device.device_path());
  for (int i = 0; i < container.volume_mounts_size(); ++i) {
    const auto& mount = container.volume_mounts(i);
    const std::string at = At(Field(path, "volumeMounts"), i);
    if (mount.name().empty()) {
      errors.Required(Field(at, "name"));
    } else if (context.volumes.count(mount.name()) == 0) {
      errors.NotFound(Field(at, "name"), mount.name());
    }
    if (mount.mount_path().empty()) errors.Required(Field(at, "mountPath"));
    if (!paths.insert(mount.mount_path()).second)
      errors.Invalid(Field(at, "mountPath"), mount.mount_path(), "must be unique");
    if (devices.count(mount.mount_path()) > 0)
      errors.Invalid(Field(at, "mountPath"), mount.mount_path(),
                     "must not already exist as a path in volumeDevices");
    ValidateMount(mount, container, at, errors);
  }
  ValidateDevices(container, context, path, errors);
}

void ValidateResize(const ContainerInPod& checked, FieldErrors& errors) {
  const auto& [container, spec, long_lived, path] = checked;
  std::set<std::string> seen;
  for (int i = 0; i < container.resize_policy_size(); ++i) {
    const auto& policy = container.resize_policy(i);
    const std::string at = At(Field(path, "resizePolicy"), i);
    if (!seen.insert(policy.resource_name()).second) errors.Duplicate(at, policy.resource_name());
    if (policy.resource_name() != "cpu" && policy.resource_name() != "memory")
      errors.Unsupported(Field(at, "resourceName"), policy.resource_name(), {"cpu", "memory"});
    if (policy.restart_policy() != "NotRequired" && policy.restart_policy() != "RestartContainer")
      errors.Unsupported(Field(at, "restartPolicy"), policy.restart_policy(),
                         {"NotRequired", "RestartContainer"});
    if (policy.restart_policy() == "RestartContainer" &&
        (spec.restart_policy() == "Never" || !long_lived))
      errors.Invalid(Field(at, "restartPolicy"), policy.restart_policy(),
                     "must be 'NotRequired' for a container that is never restarted");
  }
}

void ValidateRestartRules(const Container& container, const std::string& path,
                          FieldErrors& errors) {
  const std::string& policy = container.restart_policy();
  if (container.has_restart_policy() && policy != "Always" && policy != "OnFailure" &&
      policy != "Never")
    errors.Unsupported(Field(path, "restartPolicy"), policy, {"Always", "OnFailure", "Never"});
  const std::string rules = Field(path, "restartPolicyRules");
  if (container.restart_policy_rules_size() == 0) return;
  if (policy.empty())
    errors.Required(Field(path, "restartPolicy"), "must be specified when there are restart rules");
  if (container.restart_policy_rules_size() > 20)
    errors.TooMany(rules, static_cast<size_t>(container.restart_policy_rules_size()), 20);
  for (int i = 0; i < container.restart_policy_rules_size(); ++i) {
    const auto& rule = container.restart_policy_rules(i);
    const std::string at = At(rules, i);
    if (rule.action() != "Restart" && rule.action() != "RestartAllContainers")
      errors.Unsupported(Field(at, "action"), rule.action(), {"Restart", "RestartAllContainers"});
    if (!rule.has_exit_codes()) {
      errors.Required(Field(at, "exitCodes"));
      continue;
    }
    const auto& codes = rule.exit_codes();
    if (codes.operator_() != "In" && codes.operator_() != "NotIn")
      errors.Unsupported(Field(at, "exitCodes.operator"), codes.operator_(), {"In", "NotIn"});
    if (codes.values_size() > 255)
      errors.TooMany(Field(at, "exitCodes.values"), static_cast<size_t>(codes.values_size()), 255);
  }
}

void ValidateImage(const Container& container, const std::string& path, FieldErrors& errors) {
  const std::string& image = container.image();
  if (image.empty()) {
    errors.Required(Field(path, "image"));
  } else if (image.find_first_of(" \t\n\r") == 0 ||
             image.find_last_of(" \t\n\r") == image.size() - 1) {
    errors.Invalid(Field(path, "image"), image, "must not have leading or trailing whitespace");
  }
  const std::string& pull = container.image_pull_policy();
  if (pull != "Always" && pull != "IfNotPresent" && pull != "Never")
    errors.Unsupported(Field(path, "imagePullPolicy"), pull, {"Always", "IfNotPresent", "Never"});
  const std::string& message = container.termination_message_policy();
  if (message != "File" && message != "FallbackToLogsOnError")
    errors.Unsupported(Field(path, "terminationMessagePolicy"), message,
                       {"FallbackToLogsOnError", "File"});
}

/// Checks for both regular and init containers.
void ValidateContainer(const ContainerInPod& checked, const ValidationContext& context,
                       FieldErrors& errors) {
  const auto& [container, spec, long_lived, path] = checked;
  if (container.name().empty()) {
    errors.Required(Field(path, "name"));
  } else {
    errors.Check(Field(path, "name"), container.name(), CheckDnsLabel(container.name()));
  }
  ValidateImage(container, path, errors);
  ValidatePorts(container, spec.host_network(), path, errors);
  ValidateEnv(container, context, path, errors);
  ValidateMounts(container, context, path, errors);
  ValidateResources(container.resources(), context, Field(path, "resources"), errors);
  ValidateResize(checked, errors);
  ValidateRestartRules(container, path, errors);
  ValidateProbes(checked, errors);
  ValidateContainerSecurity(container, spec, Field(path, "securityContext"), errors);
}

}  // namespace

void ValidateContainers(const ValidationContext& context, FieldErrors& errors) {
  const PodSpec& spec = context.pod.spec();
  std::set<std::string> names;
  HostPorts host_ports;
  if (spec.containers_size() == 0) errors.Required("spec.containers");
  for (int i = 0; i < spec.containers_size(); ++i) {
    const std::string path = At("spec.containers", i);
    const Container& container = spec.containers(i);
    ValidateContainer({container, spec, true, path}, context, errors);
    if (!names.insert(container.name()).second)
      errors.Duplicate(Field(path, "name"), container.name());
    ClaimHostPorts(container, host_ports, path, errors);
  }
  for (int i = 0; i < spec.init_containers_size(); ++i) {
    const std::string path = At("spec.initContainers", i);
    const Container& container = spec.init_containers(i);
    ValidateContainer({container, spec, IsSidecar(container), path}, context, errors);
    if (!names.insert(container.name()).second)
      errors.Duplicate(Field(path, "name"), container.name());
    HostPorts own;
    ClaimHostPorts(container, own, path, errors);
  }
  if (spec.ephemeral_containers_size() > 0)
    errors.Forbidden("spec.ephemeralContainers", "cannot be set on create");
}

}  // namespace splitlet::kube
