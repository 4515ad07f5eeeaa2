#pragma once

/// Names of cgroups, as a kubelet gives them: a list of components below the root, and what each
/// driver makes of it.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT naming the component.
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

/// Who makes cgroups, and so how they are named.
enum class Driver { kCgroupfs, kSystemd };

/// {"kubepods.slice", "kubepods-burstable.slice", ...}: the name that its slice has in the tree.
Name SliceName(const Name& name);
Name InTree(Driver driver, const Name& name);
/// The last component is a slice's.
bool IsSlice(const Name& name);

/// "/kubepods/burstable/pod12-ab"; "/".
std::string CgroupfsPath(const Name& name);
/// "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice"; "/".
std::string SystemdPath(const Name& name);
/// "/", "/a/b": of a configuration or a mark. Components are not empty, "." or "..".
StatusOr<Name> ParseCgroupfsPath(std::string_view path);

/// One that somebody else made, as configurations name it: "/system.slice" of a slice, whatever
/// stands before its last component, else a path.
StatusOr<Name> ParseExisting(Driver driver, std::string_view path);

/// Below `root`: the cgroup of all pods, of a class ({"kubepods"} for Guaranteed), of a pod.
Name NodeName(Name root);
Name QosName(Name root, kube::QosClass qos);
Name PodName(Name root, kube::QosClass qos, const std::string& uid);
/// Of the last component of either driver's path; nothing: it is no pod's cgroup.
std::optional<std::string> PodUidOf(std::string_view component);

}  // namespace splitlet::cgroup
