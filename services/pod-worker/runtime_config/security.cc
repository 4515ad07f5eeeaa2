#include "services/pod-worker/runtime_config/security.h"

#include <algorithm>
#include <limits>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/security.pb.h"
#include "libs/kube/ephemeral.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/container.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::AppArmorProfile;
using k8s::io::api::core::v1::SeccompProfile;
using runtime::v1::SecurityProfile;

constexpr const char* kMaskedPaths[] = {
    "/proc/asound",     "/proc/acpi",        "/proc/interrupts",
    "/proc/kcore",      "/proc/keys",        "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/proc/scsi",       "/sys/firmware",     "/sys/devices/virtual/powercap"};
constexpr std::string_view kApparmorDefault = "runtime/default";
constexpr std::string_view kApparmorUnconfined = "unconfined";
constexpr std::string_view kApparmorLocalhost = "localhost/";
constexpr std::string_view kApparmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
constexpr const char* kReadonlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger"};

void Map(const UserIds& ids, runtime::v1::IDMapping& out) {
  out.set_container_id(0);
  out.set_host_id(ids.first);
  out.set_length(ids.length);
}

/// Users and groups alike.
void SetUserNamespace(const Isolation& isolation, runtime::v1::UserNamespace& out) {
  out.set_mode(isolation.user_ids ? runtime::v1::POD : runtime::v1::NODE);
  if (!isolation.user_ids) return;
  Map(*isolation.user_ids, *out.add_uids());
  Map(*isolation.user_ids, *out.add_gids());
}

void SetNamespaces(const kube::Pod& pod, const Isolation& isolation,
                   runtime::v1::NamespaceOption& out) {
  const auto& spec = pod.spec();
  out.set_network(spec.host_network() ? runtime::v1::NODE : runtime::v1::POD);
  out.set_ipc(spec.host_ipc() ? runtime::v1::NODE : runtime::v1::POD);
  if (spec.host_pid()) {
    out.set_pid(runtime::v1::NODE);
  } else {
    out.set_pid(spec.share_process_namespace() ? runtime::v1::POD : runtime::v1::CONTAINER);
  }
  SetUserNamespace(isolation, *out.mutable_userns_options());
}

template <class Options>
void SetSelinux(const Options& from, runtime::v1::SELinuxOption& out) {
  out.set_user(from.user());
  out.set_role(from.role());
  out.set_type(from.type());
  out.set_level(from.level());
}

/// fsGroup, then the supplemental groups, then the further groups of volumes.
template <class Out>
void SetGroups(const kube::Pod& pod, const Isolation& isolation, Out& out) {
  const auto& context = pod.spec().security_context();
  if (context.has_fs_group()) out.add_supplemental_groups(context.fs_group());
  for (const int64_t group : context.supplemental_groups()) out.add_supplemental_groups(group);
  for (const int64_t group : isolation.volume_groups)
    if (std::ranges::find(out.supplemental_groups(), group) == out.supplemental_groups().end())
      out.add_supplemental_groups(group);
  if (context.supplemental_groups_policy() == "Strict")
    out.set_supplemental_groups_policy(runtime::v1::Strict);
}

/// Null: neither the container nor the pod names a profile.
const SeccompProfile* SeccompOf(const ContainerInput& in) {
  const auto& own = in.container.security_context();
  const auto& pod = in.pod.spec().security_context();
  if (own.has_seccomp_profile()) return &own.seccomp_profile();
  return pod.has_seccomp_profile() ? &pod.seccomp_profile() : nullptr;
}

Status SetSeccomp(const ContainerInput& in, SecurityProfile& out) {
  const SeccompProfile* profile = SeccompOf(in);
  if (profile == nullptr) {
    out.set_profile_type(in.node.seccomp_default ? SecurityProfile::RuntimeDefault
                                                 : SecurityProfile::Unconfined);
  } else if (profile->type() == "Unconfined") {
    out.set_profile_type(SecurityProfile::Unconfined);
  } else if (profile->type() == "RuntimeDefault") {
    out.set_profile_type(SecurityProfile::RuntimeDefault);
  } else {
    if (profile->localhost_profile().empty())
      return InvalidArgument("localhostProfile must be set if seccompProfile type is Localhost.");
    out.set_profile_type(SecurityProfile::Localhost);
    out.set_localhost_ref(SeccompFileOf(in));
  }
  return OkStatus();
}

std::string ApparmorOf(const AppArmorProfile& profile) {
  if (profile.type() == "RuntimeDefault") return std::string(kApparmorDefault);
  if (profile.type() == "Unconfined") return std::string(kApparmorUnconfined);
  return std::string(kApparmorLocalhost) + profile.localhost_profile();
}

/// Other values of the annotation are ignored.
bool IsApparmorProfile(std::string_view text) {
  if (text == kApparmorDefault || text == kApparmorUnconfined) return true;
  return text.starts_with(kApparmorLocalhost) && text.size() > kApparmorLocalhost.size();
}

/// The container's, else that of the deprecated annotation, else the pod's.
std::string ApparmorOf(const ContainerInput& in) {
  const auto& own = in.container.security_context();
  if (own.has_app_armor_profile()) return ApparmorOf(own.app_armor_profile());
  const auto& annotations = in.pod.metadata().annotations();
  const auto found = annotations.find(std::string(kApparmorAnnotation) + in.container.name());
  if (found != annotations.end() && IsApparmorProfile(found->second)) return found->second;
  const auto& pod = in.pod.spec().security_context();
  return pod.has_app_armor_profile() ? ApparmorOf(pod.app_armor_profile()) : "";
}

void SetApparmor(const ContainerInput& in, runtime::v1::LinuxContainerSecurityContext& out) {
  const std::string profile = ApparmorOf(in);
  if (profile.empty()) return;
  out.set_apparmor_profile(profile);
  SecurityProfile& to = *out.mutable_apparmor();
  if (profile == kApparmorDefault) {
    to.set_profile_type(SecurityProfile::RuntimeDefault);
  } else if (profile == kApparmorUnconfined) {
    to.set_profile_type(SecurityProfile::Unconfined);
  } else {
    to.set_profile_type(SecurityProfile::Localhost);
    to.set_localhost_ref(profile.starts_with(kApparmorLocalhost)
                             ? profile.substr(kApparmorLocalhost.size())
                             : profile);
  }
}

Status CheckNonRoot(const ContainerInput& in, const std::optional<int64_t>& user) {
  const auto& own = in.container.security_context();
  const auto& pod = in.pod.spec().security_context();
  const bool non_root = own.has_run_as_non_root() ? own.run_as_non_root() : pod.run_as_non_root();
  if (!non_root) return OkStatus();
  const auto& meta = in.pod.metadata();
  const std::string who = fmt::format("(pod: \"{}_{}({})\", container: {})", meta.name(),
                                      meta.namespace_(), meta.uid(), in.container.name());
  if (user) {
    if (*user == 0) return InvalidArgument("container's runAsUser breaks non-root policy {}", who);
    return OkStatus();
  }
  const bool by_name = in.image && !in.image->uid && !in.image->username.empty();
  if (by_name)
    return InvalidArgument(
        "container has runAsNonRoot and image has non-numeric user ({}), cannot verify user is "
        "non-root {}",
        in.image->username, who);
  if (!in.image || in.image->uid.value_or(0) == 0)
    return InvalidArgument("container has runAsNonRoot and image will run as root {}", who);
  const int64_t id = *in.image->uid;
  if (id < 0 || id > std::numeric_limits<int32_t>::max())
    return InvalidArgument("container has runAsNonRoot and image's user {} is not in 0..{} {}", id,
                           std::numeric_limits<int32_t>::max(), who);
  return OkStatus();
}

std::optional<int64_t> UserOf(const kube::Pod& pod, const kube::Container& container) {
  if (container.security_context().has_run_as_user())
    return container.security_context().run_as_user();
  if (pod.spec().security_context().has_run_as_user())
    return pod.spec().security_context().run_as_user();
  return std::nullopt;
}

bool IsPrivileged(const kube::Pod& pod) {
  for (const auto& container : pod.spec().init_containers())
    if (container.security_context().privileged()) return true;
  for (const auto& container : pod.spec().containers())
    if (container.security_context().privileged()) return true;
  for (const auto& container : kube::EphemeralContainersOf(pod.spec()))
    if (container.security_context().privileged()) return true;
  return false;
}

/// "net.ipv4.x" for "net/ipv4/x".
std::string SysctlName(std::string name) {
  const size_t first = name.find_first_of("./");
  if (first == std::string::npos || name[first] == '.') return name;
  for (char& c : name) c = c == '/' ? '.' : c == '.' ? '/' : c;
  return name;
}

}  // namespace

bool NeedsImageUser(const kube::Pod& pod, const kube::Container& container) {
  return !UserOf(pod, container);
}

std::string SeccompFileOf(const ContainerInput& in) {
  const SeccompProfile* profile = SeccompOf(in);
  if (profile == nullptr || profile->type() != "Localhost" || profile->localhost_profile().empty())
    return "";
  return in.node.seccomp_dir + "/" + profile->localhost_profile();
}

void MapMounts(const Isolation& isolation, runtime::v1::ContainerConfig& out) {
  if (!isolation.user_ids) return;
  for (auto& mount : *out.mutable_mounts()) {
    Map(*isolation.user_ids, *mount.add_uid_mappings());
    Map(*isolation.user_ids, *mount.add_gid_mappings());
  }
}

Status SetSecurityContext(const ContainerInput& in,
                          runtime::v1::LinuxContainerSecurityContext& out) {
  const auto& own = in.container.security_context();
  const auto& pod = in.pod.spec().security_context();
  const std::optional<int64_t> user = UserOf(in.pod, in.container);
  if (const Status allowed = CheckNonRoot(in, user); !allowed.ok()) return allowed;
  if (user) {
    out.mutable_run_as_user()->set_value(*user);
  } else if (in.image && !in.image->uid && !in.image->username.empty()) {
    out.set_run_as_username(in.image->username);
  } else if (in.image) {
    out.mutable_run_as_user()->set_value(in.image->uid.value_or(0));
  }
  if (own.has_run_as_group()) {
    out.mutable_run_as_group()->set_value(own.run_as_group());
  } else if (pod.has_run_as_group()) {
    out.mutable_run_as_group()->set_value(pod.run_as_group());
  }
  out.set_privileged(own.privileged());
  out.set_readonly_rootfs(own.read_only_root_filesystem());
  out.set_no_new_privs(own.has_allow_privilege_escalation() && !own.allow_privilege_escalation());
  for (const auto& capability : own.capabilities().add())
    out.mutable_capabilities()->add_add_capabilities(capability);
  for (const auto& capability : own.capabilities().drop())
    out.mutable_capabilities()->add_drop_capabilities(capability);
  if (own.proc_mount() != "Unmasked") {
    for (const char* path : kMaskedPaths) out.add_masked_paths(path);
    for (const std::string& path : in.node.thermal_paths) out.add_masked_paths(path);
    for (const char* path : kReadonlyPaths) out.add_readonly_paths(path);
  }
  if (own.has_se_linux_options()) {
    SetSelinux(own.se_linux_options(), *out.mutable_selinux_options());
  } else if (pod.has_se_linux_options()) {
    SetSelinux(pod.se_linux_options(), *out.mutable_selinux_options());
  }
  SetGroups(in.pod, in.isolation, out);
  SetNamespaces(in.pod, in.isolation, *out.mutable_namespace_options());
  SetApparmor(in, out);
  return SetSeccomp(in, *out.mutable_seccomp());
}

void SetSandboxSecurity(const kube::Pod& pod, const Isolation& isolation,
                        runtime::v1::PodSandboxConfig& out) {
  const auto& context = pod.spec().security_context();
  auto& to = *out.mutable_linux()->mutable_security_context();
  SetNamespaces(pod, isolation, *to.mutable_namespace_options());
  to.set_privileged(IsPrivileged(pod));
  to.mutable_seccomp()->set_profile_type(SecurityProfile::RuntimeDefault);
  if (context.has_run_as_user()) to.mutable_run_as_user()->set_value(context.run_as_user());
  if (context.has_run_as_group()) to.mutable_run_as_group()->set_value(context.run_as_group());
  if (context.has_se_linux_options())
    SetSelinux(context.se_linux_options(), *to.mutable_selinux_options());
  SetGroups(pod, isolation, to);
  for (const auto& sysctl : context.sysctls())
    (*out.mutable_linux()->mutable_sysctls())[SysctlName(sysctl.name())] = sysctl.value();
}

}  // namespace splitlet::pod_worker
