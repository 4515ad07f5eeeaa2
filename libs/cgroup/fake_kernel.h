#pragma once

/// Cgroups in memory with the kernel's rules: a new directory has its files, unknown files cannot
/// be written, a directory with children or processes cannot be removed.
/// Threads: one.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/cgroup/kernel.h"
#include "libs/cgroup/layout.h"

namespace splitlet::cgroup {

class FakeKernel final : public Kernel {
 public:
  /// Makes the roots of the layout's hierarchies.
  explicit FakeKernel(const Layout& layout);
  /// A single hierarchy, as on a current distribution.
  static Layout V2();
  /// Separate hierarchies for cpu, cpuset, memory, pids and systemd, and version 2 without
  /// controllers.
  static Layout V1();

  /// The process survives this many calls of Kill.
  void SetStubborn(int64_t pid, int kills) { stubborn_[pid] = kills; }
  void AddProcess(const std::string& dir, int64_t pid) { dirs_.at(dir).pids.insert(pid); }
  /// Result of writes to this file from now on; OK: normal.
  void FailWrite(const std::string& path, const Status& why) { write_errors_[path] = why; }
  void FailMakeDir(const Status& why) { make_error_ = why; }
  /// Removes the directory with everything below it and its processes.
  void Drop(const std::string& dir);
  /// All directories except the roots.
  std::vector<std::string> Dirs() const;
  std::set<int64_t> killed() const { return killed_; }
  int writes() const { return writes_; }

  StatusOr<std::string> Read(const std::string& path) override;
  Status Write(const std::string& path, const std::string& value) override;
  Status MakeDir(const std::string& path) override;
  Status RemoveDir(const std::string& path) override;
  StatusOr<std::vector<std::string>> ListDirs(const std::string& path) override;
  Status Kill(int64_t pid) override;

 private:
  struct Dir {
    std::string mount;
    std::map<std::string, std::string> files;
    std::set<int64_t> pids;
  };
  std::set<std::string> ControllersOf(const std::string& mount) const;
  void AddDir(const std::string& path, const std::string& mount, bool root);
  void AddControllerFiles(Dir& dir, const std::set<std::string>& controllers) const;
  Status EnableBelow(const std::string& path, const std::string& controller);

  const Layout layout_;
  std::map<std::string, Dir> dirs_;
  std::set<std::string> roots_;
  std::map<int64_t, int> stubborn_;
  std::set<int64_t> killed_;
  std::map<std::string, Status> write_errors_;
  Status make_error_;
  int writes_ = 0;
};

}  // namespace splitlet::cgroup
