#include "libs/kube/validate_security.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"
#include "libs/kube/user_namespace.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

constexpr int64_t kMaxId = 2'147'483'647;

void CheckId(bool set, int64_t id, const std::string& path, FieldErrors& errors) {
  if (set && (id < 0 || id > kMaxId))
    errors.Invalid(path, id, "must be between 0 and 2147483647, inclusive");
}

/// Profiles of seccomp and AppArmor, which have the same form.
template <class Profile>
void CheckProfile(bool set, const Profile& profile, const std::string& path, FieldErrors& errors) {
  if (!set) return;
  const std::string& type = profile.type();
  const std::string& local = profile.localhost_profile();
  if (type.empty()) return errors.Required(Field(path, "type"));
  if (type != "Localhost" && type != "RuntimeDefault" && type != "Unconfined")
    return errors.Unsupported(Field(path, "type"), type,
                              {"Localhost", "RuntimeDefault", "Unconfined"});
  if (type == "Localhost" && local.empty())
    errors.Required(Field(path, "localhostProfile"), "must be set when the type is Localhost");
  if (type != "Localhost" && !local.empty())
    errors.Invalid(Field(path, "localhostProfile"), local,
                   "can only be set when the type is Localhost");
  if (HasParentStep(local))
    errors.Invalid(Field(path, "localhostProfile"), local, "must not contain '..'");
}

/// Parts of lower-case letters, digits, '-' and '_', separated by '.' or '/'.
bool IsSysctlName(std::string_view name) {
  const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 253 || !alnum(name.front()) || !alnum(name.back()))
    return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return alnum(c) || c == '-' || c == '_' || c == '.' || c == '/' || (c >= 'A' && c <= 'Z');
  });
}

void ValidateSysctls(const PodSpec& spec, FieldErrors& errors) {
  std::set<std::string> names;
  const auto& sysctls = spec.security_context().sysctls();
  for (int i = 0; i < sysctls.size(); ++i) {
    std::string name = sysctls[i].name();
    std::replace(name.begin(), name.end(), '/', '.');
    const std::string path = Field(At("spec.securityContext.sysctls", i), "name");
    if (name.empty()) {
      errors.Required(path);
    } else if (!IsSysctlName(name)) {
      errors.Invalid(path, name, "is not the name of a sysctl");
    } else if (!names.insert(name).second) {
      errors.Duplicate(path, name);
    }
    if (spec.host_network() && name.substr(0, 4) == "net.")
      errors.Invalid(path, name, "may not be specified when `hostNetwork` is true");
    const bool ipc = name.substr(0, 10) == "kernel.shm" || name.substr(0, 10) == "kernel.msg" ||
                     name == "kernel.sem" || name.substr(0, 10) == "fs.mqueue.";
    if (spec.host_ipc() && ipc)
      errors.Invalid(path, name, "may not be specified when `hostIPC` is true");
  }
}

void ValidateHostUsers(const PodSpec& spec, FieldErrors& errors) {
  if (!HasUserNamespace(spec)) return;
  const std::string why = "when `hostUsers` is false";
  if (spec.host_network()) errors.Forbidden("spec.hostNetwork", "may not be set " + why);
  if (spec.host_pid()) errors.Forbidden("spec.hostPID", "may not be set " + why);
  if (spec.host_ipc()) errors.Forbidden("spec.hostIPC", "may not be set " + why);
  for (int i = 0; i < spec.containers_size(); ++i)
    if (spec.containers(i).volume_devices_size() > 0)
      errors.Forbidden(Field(At("spec.containers", i), "volumeDevices"), "may not be set " + why);
}

}  // namespace

void ValidateSecurity(const PodSpec& spec, FieldErrors& errors) {
  const auto& context = spec.security_context();
  const std::string path = "spec.securityContext";
  CheckId(context.has_run_as_user(), context.run_as_user(), Field(path, "runAsUser"), errors);
  CheckId(context.has_run_as_group(), context.run_as_group(), Field(path, "runAsGroup"), errors);
  CheckId(context.has_fs_group(), context.fs_group(), Field(path, "fsGroup"), errors);
  for (int i = 0; i < context.supplemental_groups_size(); ++i)
    CheckId(true, context.supplemental_groups(i), At(Field(path, "supplementalGroups"), i), errors);
  const std::string& change = context.fs_group_change_policy();
  if (!change.empty() && change != "OnRootMismatch" && change != "Always")
    errors.Unsupported(Field(path, "fsGroupChangePolicy"), change, {"Always", "OnRootMismatch"});
  const std::string& groups = context.supplemental_groups_policy();
  if (!groups.empty() && groups != "Merge" && groups != "Strict")
    errors.Unsupported(Field(path, "supplementalGroupsPolicy"), groups, {"Merge", "Strict"});
  const std::string& relabel = context.se_linux_change_policy();
  if (!relabel.empty() && relabel != "MountOption" && relabel != "Recursive")
    errors.Unsupported(Field(path, "seLinuxChangePolicy"), relabel, {"MountOption", "Recursive"});
  CheckProfile(context.has_seccomp_profile(), context.seccomp_profile(),
               Field(path, "seccompProfile"), errors);
  CheckProfile(context.has_app_armor_profile(), context.app_armor_profile(),
               Field(path, "appArmorProfile"), errors);
  ValidateSysctls(spec, errors);
  if (spec.share_process_namespace() && spec.host_pid())
    errors.Invalid("spec.shareProcessNamespace", "true",
                   "ShareProcessNamespace and HostPID cannot both be enabled");
  ValidateHostUsers(spec, errors);
}

void ValidateContainerSecurity(const Container& container, const PodSpec& spec,
                               const std::string& path, FieldErrors& errors) {
  const auto& context = container.security_context();
  CheckId(context.has_run_as_user(), context.run_as_user(), Field(path, "runAsUser"), errors);
  CheckId(context.has_run_as_group(), context.run_as_group(), Field(path, "runAsGroup"), errors);
  if (context.has_allow_privilege_escalation() && !context.allow_privilege_escalation()) {
    const auto& added = context.capabilities().add();
    const bool admin = std::any_of(added.begin(), added.end(), [](const std::string& capability) {
      return capability == "CAP_SYS_ADMIN";
    });
    if (context.privileged())
      errors.Invalid(path, "",
                     "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    if (admin)
      errors.Invalid(
          path, "",
          "cannot set `allowPrivilegeEscalation` to false and `capabilities.add` CAP_SYS_ADMIN");
  }
  const std::string& proc = context.proc_mount();
  if (!proc.empty() && proc != "Default" && proc != "Unmasked")
    errors.Unsupported(Field(path, "procMount"), proc, {"Default", "Unmasked"});
  if (proc == "Unmasked" && !HasUserNamespace(spec))
    errors.Invalid(Field(path, "procMount"), proc, "`hostUsers` must be false to use `Unmasked`");
  CheckProfile(context.has_seccomp_profile(), context.seccomp_profile(),
               Field(path, "seccompProfile"), errors);
  CheckProfile(context.has_app_armor_profile(), context.app_armor_profile(),
               Field(path, "appArmorProfile"), errors);
}

}  // namespace splitlet::kube
