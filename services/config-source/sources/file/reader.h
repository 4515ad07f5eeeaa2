#pragma once

/// Reads the configured path: which manifests there are, and each one, or a few, as a pod. Content
/// that was seen before is not decoded again.
/// Threads: one at a time (the strand of the file source); calls block on files.
/// Errors: in what is returned.
/// Source: docs/behaviour/config-sources.md, "Manifest files".

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "services/config-source/sources/file/catalog.h"
#include "services/config-source/sources/manifest.h"

namespace splitlet::config_source {

class ManifestReader {
 public:
  using Decode = std::function<StatusOr<DecodedPods>(std::string_view text, const Origin& origin)>;
  /// `path`: a directory or one manifest.
  ManifestReader(fs::FileSystem& files, std::string path, std::string node_name, Decode decode);

  Listing List();
  /// nullopt: the file went away meanwhile. `kChanged` does not open a file again that looks as it
  /// did when it was read, unless it had been written just before: its next change could look the
  /// same. What keeps inode, size and time is found by `kAll`.
  enum class Which { kAll, kChanged };
  std::optional<ReadFile> Read(const std::string& path, Which which, WallTime now);
  /// What one entry of the directory is now; a file is opened.
  Look LookAt(const std::string& path, WallTime now);
  /// Drops what is kept of files that are not in `listing`.
  void Collect(const Listing& listing);

 private:
  struct Stamp {
    uint64_t inode = 0, size = 0;
    WallTime modified;
    bool operator==(const Stamp&) const = default;
  };
  StatusOr<Listing> TryList();
  Status AddEntry(const fs::DirEntry& entry, Listing& listing);
  StatusOr<Stamp> StampOf(const std::string& path);
  /// ABORTED when it changed since `before`.
  StatusOr<std::string> ReadSettled(const std::string& path, const Stamp& before);
  std::optional<ReadFile> Unreadable(const std::string& path, const Status& why);

  fs::FileSystem& files_;
  const std::string path_;
  const std::string node_name_;
  const Decode decode_;
  struct Known {
    ReadFile read;
    Stamp stamp;
    bool settled = false;  // it had not been written just before
  };
  std::map<std::string, Known> cache_;  // by path
};

}  // namespace splitlet::config_source
