#pragma once

/// Resources that pods leave on the host of a node with a private containerd (deploy/local), and
/// their removal. Leak check of chaos and of the tests on a real runtime: a resource leaks if it
/// exists after the last pod and did not exist before the first.
/// Threads: any; blocks on the disk and on iptables, at most 10 s for each command.
/// Errors: none, unless noted; unreadable resources count as missing, irremovable ones stay.
/// Source: deploy/local/README.md.

#include <set>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

/// Absolute paths. Empty: skipped.
struct PodPlaces {
  std::vector<std::string> tops;       // mounts below them count
  std::string root, state, run, logs;  // of the node's processes
  std::string containerd;              // of the private one: its state, runc and cni
};

/// Owners of cgroups: other nodes of the machine have cgroups beside them.
struct KnownPods {
  std::set<std::string> ids;   // of sandboxes and containers
  std::set<std::string> uids;  // of pods
};

/// Mounts, cgroups, links, network namespaces, addresses, iptables rules, shims, tasks,
/// directories, files: each as one line that stays the same while the resource exists.
std::set<std::string> HostResourcesOf(const PodPlaces& places, const KnownPods& pods);

/// Kills, unmounts, removes. A link goes with its network namespace, a rule with the runtime.
void RemoveHostResource(const PodPlaces& places, const std::string& resource);

/// Removes the rules and chains that plugins of the pod network made. Rules of other networks stay.
/// OK if there are none; else the error of iptables-restore.
Status DropNetworkRules(const std::string& containerd);

/// Cgroups of these pods and their containers, at any place.
std::vector<std::string> CgroupsOf(const KnownPods& pods);

}  // namespace splitlet::operate
