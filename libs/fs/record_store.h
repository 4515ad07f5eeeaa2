#pragma once

/// Records on disk, a small file for each pod, replaced atomically (docs/safety.md, rule 3). A file
/// is a header line (format, schema level, boot, checksum) and the serialised record. Each
/// directory belongs to one store.
/// Threads: any; calls block.
/// Errors: an empty file is a save that a power cut undid, so ReadAll removes it. A file that is
/// broken or of a higher schema level is listed as unreadable and stays, until PutAside moves it to
/// "<directory>-discarded". A file that cannot be read now (descriptors, disk, permission) fails
/// ReadAll as a whole, so that no caller takes its record for absent. ReadAll removes new content
/// whose writer was killed.

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

class RecordStore {
 public:
  struct Options {
    std::string directory;
    bool this_boot_only = false;  // true: ReadAll removes records of another boot
    uint32_t schema = 1;          // a file of a higher level is unreadable
    /// Reserve for SaveForEnd, on the same file system; empty: no reserve.
    std::string reserve_directory;
  };
  struct Record {
    std::string key;    // characters [A-Za-z0-9._-], for instance a pod UID
    std::string bytes;  // the serialised record
    uint64_t boot = 0;  // boot in which the record was written
  };
  struct Unreadable {
    std::string key;
    std::string reason;  // "schema level 3 is above 1", "checksum does not match"
    bool newer = false;  // true: the schema level is higher; false: the file is broken
  };
  struct All {
    std::vector<Record> records;
    std::vector<Unreadable> unreadable;
  };
  RecordStore(FileSystem& files, const Clock& clock, Options options);

  /// After an error the caller tries again.
  StatusOr<All> ReadAll() const;
  /// A saved record survives SIGKILL, and with `fsync` a power cut too. Without `fsync` a power cut
  /// leaves the earlier record or none.
  Status Save(const std::string& key, std::string_view bytes, bool fsync) const;
  /// Save for a record that the end of a pod needs: on a full disk it uses the reserve.
  Status SaveForEnd(const std::string& key, std::string_view bytes, bool fsync) const;
  /// Frees half of the reserve, on a full disk.
  Status GiveRoom() const;
  /// Creates the directory and the reserve if they are missing and the disk has space. Call it
  /// regularly.
  Status KeepRoom() const;
  /// Also OK if the record does not exist.
  Status Forget(const std::string& key) const;
  /// The file's new path; NOT_FOUND if the file does not exist. Overwrites nothing.
  StatusOr<std::string> PutAside(const std::string& key) const;

 private:
  /// Marks the key as being written.
  class Writing {
   public:
    Writing(const RecordStore& store, const std::string& key);
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    const RecordStore& store_;
    const std::string key_;
  };
  Status RemoveUnfinishedOf(std::string_view key) const;
  std::string PathOf(const std::string& key) const;
  std::string ContentOf(std::string_view bytes) const;

  FileSystem& files_;
  const Clock& clock_;
  Options options_;
  mutable std::mutex mutex_;
  mutable std::multiset<std::string, std::less<>> writing_;  // keys; guarded by mutex_
};

}  // namespace splitlet::fs
