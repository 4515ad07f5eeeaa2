#pragma once

/// Names of cgroups in a kubelet's form: a list of components below the root, and the spelling of
/// each driver.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT: names the component.
/// Source:  docs/behaviour/cgroups.md, "Names"; kubelet cm.CgroupName.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/resources.h"

namespace splitlet::cgroup {

/// {"kubepods", "burstable", "pod12-ab"}; empty: the root.
using Name = std::vector<std::string>;

/// The driver that makes cgroups, which decides the spelling of names.
enum class Driver { kCgroupfs, kSystemd };

/// The path of its slice: {"kubepods.slice", "kubepods-burstable.slice", ...}.
Name SliceName(const Name& name);
Name InTree(Driver driver, const Name& name);
/// True if the last component names a slice.
bool IsSlice(const Name& name);

/// Formats "/kubepods/burstable/pod12-ab", or "/".
std::string CgroupfsPath(const Name& name);
/// Formats "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice", or "/".
std::string SystemdPath(const Name& name);
/// Parses "/" or "/a/b" from a configuration or a mark. A component must not be empty, "." or "..".
StatusOr<Name> ParseCgroupfsPath(std::string_view path);

/// A cgroup of another program, as a configuration spells it: "/system.slice" for a slice, with
/// anything before its last component; else a path.
StatusOr<Name> ParseExisting(Driver driver, std::string_view path);

/// Below `root`: the cgroup of all pods, of a QoS class ({"kubepods"} for Guaranteed), of a pod.
Name NodeName(Name root);
Name QosName(Name root, kube::QosClass qos);
Name PodName(Name root, kube::QosClass qos, const std::string& uid);
/// The UID in the last component of either driver's path; nullopt: not a pod's cgroup.
std::optional<std::string> PodUidOf(std::string_view component);

}  // namespace splitlet::cgroup
