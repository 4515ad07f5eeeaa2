#pragma once

/// Capacity of this machine, in bytes and whole CPUs.
/// Threads: any; they block on files. Errors are the reason only.
/// Source: docs/behaviour/node.md, "Capacity and allocatable".

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/kube/node_match.h"

namespace splitlet::node {

struct HugePages {
  std::string size;      // "2MB", as runtimes say
  std::string resource;  // "hugepages-2Mi"
  int64_t bytes = 0;     // of all such pages that are set apart
  bool operator==(const HugePages&) const = default;
};

struct Machine {
  int64_t cpus = 0;
  std::set<int64_t> online = {};  // numbers of the CPUs
  int64_t memory_bytes = 0;
  int64_t storage_bytes = 0;  // of the file system of the root directory; 0: unknown
  std::vector<HugePages> huge_pages = {};
  bool apparmor = false, selinux = false;  // the kernel enforces them
};

/// From /proc and /sys. Without huge pages and storage it is still good; without CPUs and memory it
/// is an error.
StatusOr<Machine> ReadMachine(fs::FileSystem& files, const std::string& root_dir);

/// By size; what cannot be read is not there.
std::vector<HugePages> ReadHugePages(fs::FileSystem& files);

/// "amd64", "arm64", ... of this program.
std::string_view Architecture();

/// The labels that a node has by itself: its name, system and architecture.
kube::Labels OwnLabels(const std::string& node_name);

/// "0-3,5"; empty is none.
StatusOr<std::set<int64_t>> ParseCpuList(std::string_view list);
/// MemTotal; 0 without.
int64_t ParseMemTotal(std::string_view meminfo);

}  // namespace splitlet::node
