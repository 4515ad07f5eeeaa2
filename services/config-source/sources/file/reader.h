#pragma once

/// Reads the configured path: lists the manifests, and reads them as pods. Content that was read
/// before is not decoded again.
/// Threads: one at a time (the strand of the file source); calls block on files.
/// Errors: in the results.
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
  /// nullopt: the file is gone. kAll opens every file. kChanged opens a file only if its inode,
  /// size or time of change differs from when it was read. It also opens a file that was written
  /// just before it was read, because a further change may leave all three the same.
  enum class Which { kAll, kChanged };
  std::optional<ReadFile> Read(const std::string& path, Which which, WallTime now);
  /// Inspects one entry of the directory; a file is opened.
  Inspection Inspect(const std::string& path, WallTime now);
  /// Drops the cache of files that are not in `listing`.
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
    bool settled = false;  // it was not written just before it was read
  };
  std::map<std::string, Known> cache_;  // by path
};

}  // namespace splitlet::config_source
