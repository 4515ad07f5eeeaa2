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
  std::string size;      // size in the runtimes' form: "2MB"
  std::string resource;  // resource name: "hugepages-2Mi"
  int64_t bytes = 0;     // size of all reserved pages of this size
  bool operator==(const HugePages&) const = default;
};

struct Machine {
  int64_t cpus = 0;
  std::set<int64_t> online = {};  // numbers of the online CPUs
  int64_t memory_bytes = 0;
  int64_t storage_bytes = 0;  // size of the file system of the root directory; 0: unknown
  std::vector<HugePages> huge_pages = {};
  bool apparmor = false, selinux = false;  // the kernel enforces them
};

/// Reads /proc and /sys. Missing huge pages and storage are no error; missing CPUs or memory are.
StatusOr<Machine> ReadMachine(fs::FileSystem& files, const std::string& root_dir);

/// By page size; unreadable sizes are missing.
std::vector<HugePages> ReadHugePages(fs::FileSystem& files);

/// The architecture of this program: "amd64", "arm64" and so on.
std::string_view Architecture();

/// The labels that every node has: its name, system and architecture.
kube::Labels OwnLabels(const std::string& node_name);

/// Parses "0-3,5"; empty text gives none.
StatusOr<std::set<int64_t>> ParseCpuList(std::string_view list);
/// MemTotal; 0 if absent.
int64_t ParseMemTotal(std::string_view meminfo);

}  // namespace splitlet::node
