#pragma once

/// The layout of this machine's CPUs in cores and sockets.
/// Threads: any; it blocks on files.
/// Errors:  none, see CpuTopology.
/// Source:  sysfs(5); docs/behaviour/node-api.md, "Figures".

#include <cstdint>
#include <set>

#include "libs/fs/file_system.h"

namespace splitlet::node {

/// 0: the kernel does not report it for every CPU.
struct CpuTopology {
  int64_t cores = 0, sockets = 0;
  bool operator==(const CpuTopology&) const = default;
};

/// `online`: numbers of the online CPUs, see Machine.
CpuTopology ReadCpuTopology(fs::FileSystem& files, const std::set<int64_t>& online);

}  // namespace splitlet::node
