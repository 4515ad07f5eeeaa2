#pragma once

/// Files in memory, with faults. Passes the same contract test as the real file system.
/// Threads: any; hooks run on the caller's thread.
/// Errors: as the real one, and the injected ones.

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "libs/fs/file_watcher.h"

namespace splitlet::fs {

class FakeFileSystem final : public FileSystem {
 public:
  explicit FakeFileSystem(const Clock& clock);

  /// Every operation at `prefix` or below returns this error; OK removes the fault.
  void Fail(const std::string& prefix, const Status& status);
  /// Runs before each operation ("replace", "read", ...), without a lock; an error becomes the
  /// operation's result. For delays (Scheduler::Charge), crashed processes (CANCELLED) and
  /// counting.
  void SetHook(std::function<Status(std::string_view operation, const std::string& path)> hook);
  /// Simulates a full disk at `prefix` or below: Replace, Overwrite, Allocate, MakeDirs,
  /// MakeDirsBelow and MakeSymlink return RESOURCE_EXHAUSTED; ReplaceFrom does not.
  void SetFull(const std::string& prefix, bool full);
  /// A socket in an existing directory, in the place of what was there; each has another inode.
  void MakeSocket(const std::string& path);
  void SetMountPoint(const std::string& path);
  /// Unmounts the path; the files there are gone.
  void EndMountPoint(const std::string& path);
  /// Sets owner and mode of an existing file. A file that replaces it belongs to this process.
  void SetOwner(const std::string& path, uint32_t owner, uint32_t mode);
  void SetUsage(const std::string& prefix, const DiskUsage& usage);
  /// Simulates a power cut: files return to their last synced content, and files never synced
  /// disappear.
  void PowerCut();

  StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) override;
  StatusOr<OwnedText> ReadOwned(const std::string& path, uint64_t max_bytes) override;
  Status Replace(const std::string& path, std::string_view content, WriteOptions options) override;
  StatusOr<std::vector<DirEntry>> List(const std::string& path) override;
  StatusOr<FileInfo> Stat(const std::string& path, bool follow) override;
  Status MakeDirs(const std::string& path, uint32_t mode) override;
  Status MakeDirsBelow(const std::string& root, const std::string& below, uint32_t mode) override;
  Status MakeSymlink(const std::string& target, const std::string& path) override;
  StatusOr<std::string> ReadSymlink(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status RemoveTreeWhile(const std::string& path, const std::function<bool()>& go_on) override;
  Status Truncate(const std::string& path) override;
  Status Overwrite(const std::string& path, std::string_view content) override;
  Status Allocate(const std::string& path, uint64_t bytes) override;
  Status ReplaceFrom(const std::string& spare, const std::string& path, std::string_view content,
                     WriteOptions options) override;
  Status Rename(const std::string& from, const std::string& to) override;
  StatusOr<DiskUsage> Usage(const std::string& path) override;

 private:
  friend class FakeFileWatcher;
  struct Node {
    FileInfo::Kind kind = FileInfo::Kind::kDirectory;
    std::string content;  // for a symlink: its target
    uint64_t inode = 0;
    WallTime modified;
    uint64_t allocated = 0;  // for a spare file: its reserved blocks, which the fake does not fill
    uint32_t owner = ::geteuid(), mode = 0600;
  };
  using Nodes = std::map<std::string, Node>;
  Status Enter(std::string_view operation, const std::string& path);
  /// The path with all symlinks resolved; the last component only with `last`.
  StatusOr<std::string> Resolve(const std::string& path, bool last, int depth = 0) const;
  Status MakeDirsAt(const std::string& path);
  Status CheckRoom(const std::string& path) const;
  Node NewNode(FileInfo::Kind kind, std::string content);
  Nodes::iterator FirstBelow(const std::string& path) { return nodes_.lower_bound(path + "/"); }
  void Changed(const std::string& path);

  const Clock& clock_;
  std::mutex mutex_;
  Nodes nodes_;
  Nodes durable_;
  uint64_t last_inode_ = 1;
  std::map<std::string, Status> failures_;
  std::map<std::string, bool> full_;
  std::map<std::string, DiskUsage> usage_;
  std::vector<std::string> mounts_;
  std::function<Status(std::string_view, const std::string&)> hook_;
  struct Watch {
    std::string path;
    std::function<void(const Hint&)> on_change;
  };
  std::map<const void*, Watch> watches_;
};

/// Reports changes at the path and below it, and its creation and removal, on the thread that makes
/// the change. A test may mute the watcher, as if events were lost, or end its watch.
class FakeFileWatcher final : public FileWatcher {
 public:
  explicit FakeFileWatcher(FakeFileSystem& files) : files_(files) {}
  ~FakeFileWatcher() override;
  Status Start(const std::string& path, Callbacks callbacks) override;
  void Mute(bool muted) { muted_ = muted; }
  /// Result of Start from now on.
  void FailStart(const Status& why) { start_error_ = why; }
  /// Stops watching until the next Start.
  void Lose(const Status& why);
  int starts() const { return starts_; }

 private:
  FakeFileSystem& files_;
  std::function<void(const Status&)> on_lost_;
  Status start_error_;
  int starts_ = 0;
  bool muted_ = false;
};

}  // namespace splitlet::fs
