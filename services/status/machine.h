#pragma once

/// What this machine has, and what of it pods may use.
/// Threads: ReadMachine blocks on files; the rest is pure. Errors: the reason only.
/// Units: bytes, whole CPUs. Source: node-and-probes spec, sections 5.1 and 5.2.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/kube/resources.h"

namespace splitlet::status {

struct Machine {
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
  int64_t storage_bytes = 0;                  // of the file system of the state directory
  std::map<std::string, int64_t> huge_pages;  // "hugepages-2Mi" -> bytes
  std::string hostname;
  std::vector<std::string> ips;  // of the interface of the default route; may be empty
};

/// From /proc and /sys. Without an address, with no huge pages and no storage it is still good;
/// without CPUs and memory it is an error.
StatusOr<Machine> ReadMachine(fs::FileSystem& files, const std::string& state_dir);

struct NodeLimits {
  int64_t max_pods = 110;
  std::map<std::string, std::string> system_reserved, kube_reserved;  // quantities
  std::map<std::string, std::string> eviction_hard;  // "memory.available" -> "100Mi" or "10%"
};

struct NodeResources {
  kube::Resources capacity, allocatable;
};

/// Allocatable is capacity less both reservations and the hard eviction thresholds, not below zero.
/// INVALID_ARGUMENT when the reservations are above the capacity.
StatusOr<NodeResources> ComputeNodeResources(const Machine& machine, const NodeLimits& limits);

/// "amd64", "arm64", ... of this program.
std::string_view Architecture();

/// Parts of ReadMachine: "0-3,5" is 5; MemTotal in bytes, 0 without; the local address of the
/// default route.
int64_t CountCpus(std::string_view list);
int64_t ParseMemTotal(std::string_view meminfo);
std::string FindAddress(std::string_view route, std::string_view fib_trie);

}  // namespace splitlet::status
