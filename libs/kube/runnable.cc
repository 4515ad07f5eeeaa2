#include "libs/kube/runnable.h"

#include <limits>
#include <set>
#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/ephemeral.h"
#include "libs/kube/names.h"
#include "libs/kube/quantity.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// Kernel and runtime take these values as 32 bits.
void CheckNumber(int64_t number, const std::string& path, FieldErrors& errors) {
  if (number < 0 || number > kMost)
    errors.Invalid(path, number, fmt::format("must be between 0 and {}, inclusive", kMost));
}

/// `names`: earlier names of the same kind. Two equal names would share a directory.
void CheckPart(const std::string& name, const std::string& path, std::set<std::string>& names,
               FieldErrors& errors) {
  errors.Check(path, name, CheckDnsLabel(name));
  if (!names.insert(name).second) errors.Duplicate(path, name);
}

/// Names of resources become mount options and files of cgroups.
template <class Amounts>
void CheckQuantities(const Amounts& amounts, const std::string& path, FieldErrors& errors) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, amount] : amounts) sorted[name] = amount.string();
  for (const auto& [name, text] : sorted) {
    const std::string at = AtKey(path, name);
    errors.Check(at, name, CheckQualifiedName(name));
    const auto amount = Quantity::Parse(text);
    if (!amount.ok()) {
      errors.Invalid(at, text, splitlet::Message(amount.status()));
    } else if (amount->IsNegative()) {
      errors.Invalid(at, text, "must be greater than or equal to 0");
    }
  }
}

void CheckAllResources(const ResourceRequirements& resources, const std::string& path,
                       FieldErrors& errors) {
  CheckQuantities(resources.limits(), Field(path, "limits"), errors);
  CheckQuantities(resources.requests(), Field(path, "requests"), errors);
}

/// Checks that the profile names a file below the folder of profiles.
template <class Context>
void CheckSeccompFile(const Context& context, const std::string& path, FieldErrors& errors) {
  const std::string& file = context.seccomp_profile().localhost_profile();
  const std::string at = Field(path, "seccompProfile.localhostProfile");
  if (file.starts_with('/')) errors.Invalid(at, file, "must be a relative path");
  if (HasParentStep(file)) errors.Invalid(at, file, "must not contain '..'");
}

/// Security context of a pod and of a container.
template <class Context>
void CheckIds(const Context& context, const std::string& path, FieldErrors& errors) {
  if (context.has_run_as_user())
    CheckNumber(context.run_as_user(), Field(path, "runAsUser"), errors);
  if (context.has_run_as_group())
    CheckNumber(context.run_as_group(), Field(path, "runAsGroup"), errors);
  CheckSeccompFile(context, path, errors);
}

void CheckPartOfVolume(const std::string& value, const std::string& path, FieldErrors& errors) {
  if (value.starts_with('/')) errors.Invalid(path, value, "must be a relative path");
  if (HasParentStep(value)) errors.Invalid(path, value, "must not contain '..'");
}

void CheckContainer(const Container& container, const std::string& path,
                    std::set<std::string>& names, FieldErrors& errors) {
  CheckPart(container.name(), Field(path, "name"), names, errors);
  CheckAllResources(container.resources(), Field(path, "resources"), errors);
  for (int i = 0; i < container.volume_mounts_size(); ++i) {
    const std::string mount = At(Field(path, "volumeMounts"), i);
    CheckPartOfVolume(container.volume_mounts(i).sub_path(), Field(mount, "subPath"), errors);
    CheckPartOfVolume(container.volume_mounts(i).sub_path_expr(), Field(mount, "subPathExpr"),
                      errors);
  }
  CheckIds(container.security_context(), Field(path, "securityContext"), errors);
}

void CheckContainers(const PodSpec& spec, FieldErrors& errors) {
  std::set<std::string> names;
  if (spec.containers().empty()) errors.Required("spec.containers");
  for (int i = 0; i < spec.containers_size(); ++i)
    CheckContainer(spec.containers(i), At("spec.containers", i), names, errors);
  for (int i = 0; i < spec.init_containers_size(); ++i)
    CheckContainer(spec.init_containers(i), At("spec.initContainers", i), names, errors);
  int place = 0;
  for (const Container& container : EphemeralContainersOf(spec))
    CheckContainer(container, At("spec.ephemeralContainers", place++), names, errors);
}

void CheckVolumes(const PodSpec& spec, FieldErrors& errors) {
  std::set<std::string> names;
  for (int i = 0; i < spec.volumes_size(); ++i) {
    const Volume& volume = spec.volumes(i);
    const std::string path = At("spec.volumes", i);
    CheckPart(volume.name(), Field(path, "name"), names, errors);
    const auto& host = volume.volume_source().host_path().path();
    if (HasParentStep(host))
      errors.Invalid(Field(path, "hostPath.path"), host, "must not contain '..'");
  }
}

void CheckPodContext(const PodSpec& spec, FieldErrors& errors) {
  const auto& context = spec.security_context();
  const std::string path = "spec.securityContext";
  CheckIds(context, path, errors);
  if (context.has_fs_group()) CheckNumber(context.fs_group(), Field(path, "fsGroup"), errors);
  for (int i = 0; i < context.supplemental_groups_size(); ++i)
    CheckNumber(context.supplemental_groups(i), At(Field(path, "supplementalGroups"), i), errors);
}

void CheckIdentity(const ObjectMeta& metadata, FieldErrors& errors) {
  errors.Check("metadata.uid", metadata.uid(), CheckUid(metadata.uid()));
  errors.Check("metadata.name", metadata.name(), CheckDnsSubdomain(metadata.name()));
  errors.Check("metadata.namespace", metadata.namespace_(), CheckDnsLabel(metadata.namespace_()));
}

}  // namespace

std::vector<FieldError> CheckRunnable(const Pod& pod) {
  FieldErrors errors;
  const PodSpec& spec = pod.spec();
  CheckIdentity(pod.metadata(), errors);
  CheckVolumes(spec, errors);
  CheckContainers(spec, errors);
  CheckAllResources(spec.resources(), "spec.resources", errors);
  CheckQuantities(spec.overhead(), "spec.overhead", errors);
  CheckPodContext(spec, errors);
  // Limit of seconds, which are added to a time.
  if (spec.has_active_deadline_seconds())
    CheckNumber(spec.active_deadline_seconds(), "spec.activeDeadlineSeconds", errors);
  return errors.Take();
}

}  // namespace splitlet::kube
