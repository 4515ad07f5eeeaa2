#pragma once

/// One small file per pod, replaced atomically, for what cannot be read back (docs/safety.md, rule
/// 3): a header line (format, schema level, boot, checksum) and the serialised record.
/// Threads: any; calls block.
/// Errors: an empty file is a save that a power cut undid, and none; one that is broken or of a
/// higher schema level is listed as such and kept, until PutAside moves it to
/// "<directory>-discarded". One that cannot be read now (descriptors, disk, permission) is an error
/// of the whole: nobody may take its record for absent. New content whose writer was killed goes
/// with ReadAll: the directory is one store's alone, and what that writes meanwhile stays.

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
    bool this_boot_only =
        false;            // records of another boot are void: removed by ReadAll, not returned
    uint32_t schema = 1;  // files of a higher level are kept and reported as unreadable
    /// For SaveForEnd, on the same file system; empty: there is none.
    std::string reserve_directory;
  };
  struct Fact {
    std::string key;    // [A-Za-z0-9._-], for instance a pod UID
    std::string bytes;  // the serialised record
    uint64_t boot = 0;  // when it was written
  };
  struct Unreadable {
    std::string key;
    std::string reason;  // "schema level 3 is above 1", "checksum does not match"
    bool newer = false;  // of a higher schema level; else broken
  };
  struct All {
    std::vector<Fact> facts;
    std::vector<Unreadable> unreadable;
  };
  RecordStore(FileSystem& files, const Clock& clock, Options options);

  /// To be tried again when it fails.
  StatusOr<All> ReadAll() const;
  /// On return a SIGKILL cannot lose it; with `fsync`, a power cut neither. Without, a power cut
  /// leaves the record before it, or none.
  Status Save(const std::string& key, std::string_view bytes, bool fsync) const;
  /// Save for a fact without which a pod cannot be ended: on a full disk out of the reserve.
  Status SaveForEnd(const std::string& key, std::string_view bytes, bool fsync) const;
  /// Gives half of the reserve to others, on a full disk.
  Status GiveRoom() const;
  /// Makes the directory and the reserve, where they are missing and there is room. Now and then.
  Status KeepRoom() const;
  /// One that is not there is OK.
  Status Forget(const std::string& key) const;
  /// The file's new path; NOT_FOUND when there is none. Nothing is overwritten.
  StatusOr<std::string> PutAside(const std::string& key) const;

 private:
  /// As long as it lives the key is being written.
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
