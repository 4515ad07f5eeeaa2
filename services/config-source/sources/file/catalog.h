#pragma once

/// The state of each manifest of the file source, and the set of pods that follows. No I/O, no
/// clock.
/// - A manifest that exists and cannot be used keeps its last good pod.
/// - A manifest that vanished from a directory is dropped when a second inspection some
/// milliseconds
///   later misses it too. Until then no other manifest of its pod replaces it.
/// - A configured path that does not exist empties the source only when it was missing twice,
///   kPathMissingGap apart, or when no pod was known.
/// Threads: one.
/// Errors: none; broken manifests become problems of the set.
/// Source: docs/behaviour/config-sources.md, "Manifest files"; docs/safety.md, rule 9.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

/// An editor that moves the old file away and writes a new one is done within this time.
inline constexpr Duration kVanishedGap = std::chrono::milliseconds{3};
/// The wait before a manifest that could not be used is read again. It doubles up to the period of
/// the resync, also when the content differs each time.
inline constexpr Duration kBrokenRetry = std::chrono::milliseconds{100};
/// This many reads in a row may find a manifest half written; then it counts as a problem.
inline constexpr int kRestlessReads = 5;
inline constexpr Duration kNoListingRetry = std::chrono::seconds{1};

/// The paths that count as manifests, or why there are none.
struct Listing {
  enum class Outcome { kListed, kMissing, kUnreadable };
  Outcome outcome = Outcome::kUnreadable;
  Status status;                     // kUnreadable: why
  std::vector<std::string> paths;    // sorted
  std::vector<std::string> skipped;  // directories and special files, for the log
  bool links = false;  // some entry is a link: a manifest may change under another name
};

/// A manifest that was read.
struct ReadFile {
  std::string path;
  uint64_t content = 0;               // differs when the content does
  StatusOr<SourcePodRef> pod;         // the error names the file
  std::vector<std::string> warnings;  // fields that are ignored
};

/// An inspected entry of the directory.
struct Inspection {
  enum class Found {
    kNone,      // no entry, or not a manifest
    kManifest,  // `read` is set
    kUnclear,   // a link, or the directory is away: all entries have to be listed
  };
  std::string path;
  Found found = Found::kUnclear;
  ReadFile read;
};

/// The time of an observation: to measure, and for people.
struct SeenAt {
  Clock::Time now;
  WallTime wall;
};

class FileCatalog {
 public:
  explicit FileCatalog(Duration period) : period_(period) {}

  /// A pod that was saved before this start.
  void Restore(const SourcePodRef& pod);
  void OnListing(const Listing& listing, Clock::Time now);
  void OnRead(const ReadFile& read, const SeenAt& at);
  /// The other manifests stay as they are. Not for an entry that is unclear.
  void OnInspected(const Inspection& inspection, const SeenAt& at);

  SourceSet Set() const;
  /// The manifest existed when it was last inspected.
  bool IsThere(const std::string& path) const;
  bool IsListed() const { return outcome_ == Listing::Outcome::kListed; }
  /// The time until the next inspection, if no hint comes before.
  Duration NextInspection(Clock::Time now) const;
  /// Manifests that are due before the resync: they vanished, or cannot be used.
  std::vector<std::string> Due(Clock::Time now) const;
  /// Grows when Set() may have changed.
  uint64_t version() const { return version_; }

 private:
  struct File {
    SourcePodRef good;       // last good; nullptr: none known
    bool inspected = false;  // in this start
    std::string problem;     // why the newest content cannot be used
    WallTime problem_since;  // without problem: when `good` was read
    std::vector<std::string> warnings;
    uint64_t content = 0;
    int bad_reads = 0;       // of the same content, after the first: it may have been half written
    int restless_reads = 0;  // in a row, each of other content that cannot be used
    Clock::Time retry_at;    // no time: it has no problem
    Clock::Time missing_since;    // no time: it is there
    bool shadowed = false;        // missing: an earlier manifest had its pod when it vanished
    bool copy = false;            // it existed when an earlier manifest of its pod vanished
    Duration gap = kVanishedGap;  // how long it must be missing; longer if the whole path was
  };
  void OnListed(const Listing& listing, Clock::Time now);
  void OnPathMissing(Clock::Time now);
  using Files = std::map<std::string, File>;
  void MatchRestored(const std::set<std::string>& there);
  void OnPresent(File& file);
  /// Returns the manifest after `at`, which may be erased.
  Files::iterator OnAbsent(Files::iterator at, Clock::Time now);
  void SetMissing(Files::iterator at, Clock::Time now);
  static bool AreOfOnePod(const File& one, const File& other);
  std::optional<Duration> NextInspectionOf(const File& file, Clock::Time now) const;
  void AddPod(const std::string& path, SourceSet& set,
              std::map<std::string, std::string>& taken) const;
  void AddCompleteness(SourceSet& set) const;

  const Duration period_;
  Files files_;  // by path: of two manifests of one pod the first wins
  Listing::Outcome outcome_ = Listing::Outcome::kUnreadable;
  std::string unreadable_ = "not read yet";
  Clock::Time path_missing_since_;
  uint64_t version_ = 0;
};

}  // namespace splitlet::config_source
