#pragma once

/// What pods leave on the host of a node whose runtime is a private containerd (deploy/local), and
/// how it is removed by hand. The leak check of chaos and of the tests on a real runtime: what is
/// there after the last pod went and was not before the first has leaked.
/// Threads: any; blocks on the disk and on iptables, 10 s at most for each of its commands.
/// Errors: none but where said; what cannot be read is not there, what cannot be removed stays.
/// Source: deploy/local/README.md.

#include <set>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

/// Absolute paths. Empty: not looked at.
struct PodPlaces {
  std::vector<std::string> tops;       // mounts below them count
  std::string root, state, run, logs;  // of the node's processes
  std::string containerd;              // of the private one: its state, runc and cni
};

/// Whose cgroups count: other nodes of the machine have theirs beside them.
struct KnownPods {
  std::set<std::string> ids;   // of sandboxes and containers
  std::set<std::string> uids;  // of pods
};

/// Mounts, cgroups, links, network namespaces, addresses, iptables rules, shims, tasks,
/// directories, files: each as one line that is the same as long as it is there.
std::set<std::string> HostResourcesOf(const PodPlaces& places, const KnownPods& pods);

/// Kills, unmounts, removes. A link goes with its network namespace, a rule with the runtime.
void RemoveHostResource(const PodPlaces& places, const std::string& resource);

/// The rules that plugins of its pod network made, with the chains: a kernel that starts has none.
/// What no network of it made stays. OK when there are none; else what iptables-restore says.
Status DropNetworkRules(const std::string& containerd);

/// Groups of these pods and of what runs in them, wherever they are.
std::vector<std::string> CgroupsOf(const KnownPods& pods);

}  // namespace splitlet::operate
