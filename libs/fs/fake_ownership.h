#pragma once

/// Groups of files in memory. They stay with a file that gets another name.
/// Threads: one.

#include <map>
#include <optional>
#include <string>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/ownership.h"

namespace splitlet::fs {

class FakeOwnership final : public Ownership {
 public:
  explicit FakeOwnership(FakeFileSystem& files) : files_(files) {}

  /// What each entry gives from now on.
  void Fail(const Status& why) { error_ = why; }
  /// Whose it is; unset: nobody gave it to a group.
  std::optional<GroupAccess> AccessOf(const std::string& path) {
    const auto info = files_.Stat(path, false);
    const auto found = info.ok() ? given_.find(info->inode) : given_.end();
    if (found == given_.end()) return std::nullopt;
    return found->second;
  }

  /// Unset: nobody gave it to a user.
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

  StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access) override {
    ASSIGN_OR_RETURN(const auto info, files_.Stat(path, false), "stat");
    GroupChange change{.entries = 1, .failed = error_.ok() ? 0u : 1u, .first_failure = error_};
    if (error_.ok()) given_[info.inode] = access;
    if (info.kind != FileInfo::Kind::kDirectory) return change;
    ASSIGN_OR_RETURN(const auto entries, files_.List(path), "list");
    for (const auto& entry : entries) {
      ASSIGN_OR_RETURN(const auto below, GiveToGroup(path + "/" + entry.name, access), "{}",
                       entry.name);
      change.entries += below.entries;
      change.failed += below.failed;
    }
    return change;
  }

 private:
  FakeFileSystem& files_;
  std::map<uint64_t, GroupAccess> given_;  // by inode
  std::map<uint64_t, uint32_t> users_;     // by inode
  Status error_;
};

}  // namespace splitlet::fs
