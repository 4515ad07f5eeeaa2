#pragma once

/// Resources that pods leave on the host of a node with a private containerd (deploy/local), and
/// their removal. chaos and the tests on a real runtime use it to find leaks: resources that exist
/// after the last pod and did not exist before the first.
/// Threads: any; blocks on the disk and on iptables, at most 10 s for each command.
/// Errors: none, unless noted; unreadable resources count as missing, those that cannot be removed
/// stay.
/// Source: deploy/local/README.md.

#include <set>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

/// Absolute paths. Empty: skipped.
struct PodPlaces {
  std::vector<std::string> tops;       // mounts below these paths are listed
  std::string root, state, run, logs;  // folders of the node's processes
  std::string containerd;              // folder of the private containerd: its state, runc and cni
};

/// Owners of cgroups to list, because other nodes on the machine have cgroups in the same tree.
struct KnownPods {
  std::set<std::string> ids;   // of sandboxes and containers
  std::set<std::string> uids;  // of pods
};

/// Mounts, cgroups, links, network namespaces, addresses, iptables rules, shims, tasks,
/// directories, files: each as one line that does not change while the resource exists.
std::set<std::string> HostResourcesOf(const PodPlaces& places, const KnownPods& pods);

/// Kills, unmounts and removes them. A link disappears with its network namespace, and the runtime
/// removes a rule.
void RemoveHostResource(const PodPlaces& places, const std::string& resource);

/// Removes the rules and chains that plugins of the pod network made. Rules of other networks stay.
/// OK if there are none; else the error of iptables-restore.
Status DropNetworkRules(const std::string& containerd);

/// Cgroups of these pods and their containers, anywhere in the tree.
std::vector<std::string> CgroupsOf(const KnownPods& pods);

}  // namespace splitlet::operate
