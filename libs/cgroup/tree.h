#pragma once

/// Cgroups of this machine by name: made with their parents, limited, searched for processes, taken
/// down.
/// Owns:    nothing: the kernel has it all, and systemd of slices. Every call is idempotent.
/// Killed:  between any two of its effects the next call with the same name goes on.
/// Threads: any, one call for a name at a time; calls block in the kernel.
/// Errors:  each names the file; what it means is in docs/behaviour/cgroups.md.
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
  /// A name whose last component is a slice's is made and taken down by `slices`, and what systemd
  /// does not do is done by files; without `slices` all is.
  Tree(Kernel& kernel, Layout layout, Slices* slices = nullptr)
      : kernel_(kernel), layout_(std::move(layout)), slices_(slices) {}

  const Layout& layout() const { return layout_; }
  /// In every hierarchy that pods are limited by.
  StatusOr<bool> Exists(const Name& name) const;
  /// With its parents; no process goes there.
  Status Make(const Name& name) const;
  /// Of one that is there; the first error, after all was tried. Huge pages are left out where the
  /// kernel has no such controller.
  Status Set(const Name& name, const Limits& limits) const;
  /// Of it and all below it. Those that this process cannot see are not among them.
  StatusOr<std::set<int64_t>> Pids(const Name& name) const;
  /// Kills what is in it, in at most five rounds, and removes it with all below it. One that is not
  /// there is OK. FAILED_PRECONDITION while processes are still ending: to be tried again.
  Status Destroy(const Name& name) const;
  /// Removes it with all below it where no process is in any.
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
