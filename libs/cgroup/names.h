#pragma once

/// Names of cgroups, as a kubelet gives them: a list of components below the root, and the form of
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

/// The maker of cgroups, which decides their form of name.
enum class Driver { kCgroupfs, kSystemd };

/// {"kubepods.slice", "kubepods-burstable.slice", ...}: the name of its slice in the tree.
Name SliceName(const Name& name);
Name InTree(Driver driver, const Name& name);
/// True if the last component names a slice.
bool IsSlice(const Name& name);

/// "/kubepods/burstable/pod12-ab"; "/".
std::string CgroupfsPath(const Name& name);
/// "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice"; "/".
std::string SystemdPath(const Name& name);
/// "/", "/a/b": from a configuration or a mark. Components are not empty, "." or "..".
StatusOr<Name> ParseCgroupfsPath(std::string_view path);

/// A cgroup made by another program, in a configuration's form: "/system.slice" for a slice, with
/// anything before its last component; else a path.
StatusOr<Name> ParseExisting(Driver driver, std::string_view path);

/// Below `root`: the cgroup of all pods, of a QoS class ({"kubepods"} for Guaranteed), of a pod.
Name NodeName(Name root);
Name QosName(Name root, kube::QosClass qos);
Name PodName(Name root, kube::QosClass qos, const std::string& uid);
/// UID in the last component of either driver's path; nullopt: no pod's cgroup.
std::optional<std::string> PodUidOf(std::string_view component);

}  // namespace splitlet::cgroup
