#pragma once

/// Cgroups of this machine by name: creates them with their parents, sets limits, lists processes,
/// removes them.
/// Owns:    nothing: the kernel has all state, and systemd that of slices. Calls are idempotent.
/// Killed:  between any two effects, the next call with the same name continues.
/// Threads: any, one call for a name at a time; calls block in the kernel.
/// Errors:  each names the file; docs/behaviour/cgroups.md explains them.
/// Source:  docs/behaviour/cgroups.md.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cgroup/kernel.h"
#include "libs/cgroup/layout.h"
#include "libs/cgroup/names.h"
#include "libs/cgroup/slices.h"
#include "libs/cgroup/values.h"

namespace splitlet::cgroup {

class Tree {
 public:
  /// `slices` makes and removes slices, and files set what systemd cannot. Without `slices` files
  /// do everything.
  Tree(Kernel& kernel, Layout layout, Slices* slices = nullptr)
      : kernel_(kernel), layout_(std::move(layout)), slices_(slices) {}

  const Layout& layout() const { return layout_; }
  /// True if the cgroup exists in every hierarchy that limits pods.
  StatusOr<bool> Exists(const Name& name) const;
  /// Makes the cgroup and its parents, without moving a process.
  Status Make(const Name& name) const;
  /// Requires an existing cgroup. Tries all settings and returns the first error. Skips huge pages
  /// if the kernel has no such controller.
  Status Set(const Name& name, const Limits& limits) const;
  /// Visible processes of the cgroup and everything below it.
  StatusOr<std::set<int64_t>> Pids(const Name& name) const;
  /// Kills the processes in the cgroup, in at most five rounds, and removes it with all cgroups
  /// below. OK if the cgroup does not exist. FAILED_PRECONDITION while processes are still ending;
  /// call again.
  Status Destroy(const Name& name) const;
  /// Removes the cgroup with all below it, unless one of them has a process.
  Status RemoveEmpty(const Name& name) const;

 private:
  bool IsUnit(const Name& name) const { return slices_ != nullptr && IsSlice(name); }
  Status StartSlices(const Name& name) const;
  Status SetFiles(const Name& name, const Limits& limits) const;
  std::set<std::string> MountPoints() const;
  Status MakeV1(const std::string& mount, const Name& name) const;
  Status MakeV2(const std::string& mount, const Name& name) const;
  Status MakeDir(const std::string& path) const;
  Status WriteFile(const std::string& path, const std::string& value) const;
  Status FillCpuset(const std::string& parent, const std::string& path) const;
  Status EnableControllers(const std::string& path) const;
  Status AddPids(const std::string& path, std::set<int64_t>& pids) const;
  Status KillOnce(const Name& name, const std::set<int64_t>& pids) const;
  Status RemoveBelow(const std::string& path, int depth) const;

  Kernel& kernel_;
  const Layout layout_;
  Slices* const slices_;  // null: no systemd
};

}  // namespace splitlet::cgroup
