#pragma once

/// Owners and groups of files in memory; a renamed file keeps them.
/// Threads: one.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/ownership.h"

namespace splitlet::fs {

class FakeOwnership final : public Ownership {
 public:
  explicit FakeOwnership(FakeFileSystem& files) : files_(files) {}

  /// Result for each further entry.
  void Fail(const Status& why) { error_ = why; }
  /// Called before each entry of a group change.
  void SetOnEach(std::function<void()> on_each) { on_each_ = std::move(on_each); }
  /// Unset: no call set the file's group.
  std::optional<GroupAccess> AccessOf(const std::string& path) {
    const auto info = files_.Stat(path, false);
    const auto found = info.ok() ? given_.find(info->inode) : given_.end();
    if (found == given_.end()) return std::nullopt;
    return found->second;
  }

  /// Unset: no call set the file's owner.
  std::optional<uint32_t> UserOf(const std::string& path) {
    const auto info = files_.Stat(path, true);
    const auto found = info.ok() ? users_.find(info->inode) : users_.end();
    if (found == users_.end()) return std::nullopt;
    return found->second;
  }

  Status GiveToUser(const std::string& path, uint32_t user) override {
    ASSIGN_OR_RETURN(const auto info, files_.Stat(path, false), "stat");
    if (error_.ok()) users_[info.inode] = user;
    return error_;
  }

  using Ownership::GiveToGroup;
  StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access,
                                    const OnEntry& on_entry) override {
    GroupChange change;
    if (Status given = Give(path, access, on_entry, change); !given.ok()) return given;
    return change;
  }

 private:
  Status Give(const std::string& path, GroupAccess access, const OnEntry& on_entry,
              GroupChange& change) {
    ASSIGN_OR_RETURN(const auto info, files_.Stat(path, false), "stat");
    if (on_each_) on_each_();
    ++change.entries;
    if (!error_.ok()) ++change.failed;
    if (change.first_failure.ok()) change.first_failure = error_;
    if (error_.ok()) given_[info.inode] = access;
    if (on_entry) on_entry(change.entries);
    if (info.kind != FileInfo::Kind::kDirectory) return OkStatus();
    ASSIGN_OR_RETURN(const auto entries, files_.List(path), "list");
    for (const auto& entry : entries)
      RETURN_IF_ERROR(Give(path + "/" + entry.name, access, on_entry, change), "{}", entry.name);
    return OkStatus();
  }

  FakeFileSystem& files_;
  std::map<uint64_t, GroupAccess> given_;  // by inode
  std::map<uint64_t, uint32_t> users_;     // by inode
  Status error_;
  std::function<void()> on_each_;
};

}  // namespace splitlet::fs
