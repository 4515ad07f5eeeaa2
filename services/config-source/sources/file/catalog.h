#pragma once

/// What the file source knows of each manifest, and the set of pods that follows from it. No I/O,
/// no clock. A manifest that exists and cannot be used keeps its last good pod. One that vanished
/// from a directory goes when a second look some milliseconds later misses it too, and until then
/// no other manifest of its pod takes its place; a configured path that does not exist empties the
/// source only when it was missing on two looks kPathMissingGap apart, or when no pod was known.
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

inline constexpr Duration kPathMissingGap = std::chrono::seconds{20};
/// An editor that moves the old file away and writes a new one is done within this time.
inline constexpr Duration kVanishedGap = std::chrono::milliseconds{3};
/// The first other look at a manifest that could not be used; doubles up to the regular period,
/// also when the manifest is another at each look.
inline constexpr Duration kBrokenRetry = std::chrono::milliseconds{100};
/// So many looks in a row may find a manifest half written; then that is its problem.
inline constexpr int kRestlessLooks = 5;
inline constexpr Duration kNoListingRetry = std::chrono::seconds{1};

/// Names below the configured path that count as manifests, or why there are none.
struct Listing {
  enum class Outcome { kListed, kMissing, kUnreadable };
  Outcome outcome = Outcome::kUnreadable;
  Status status;                     // kUnreadable: why
  std::vector<std::string> paths;    // sorted
  std::vector<std::string> skipped;  // directories and what is no file, for the log
  bool links = false;                // some entry is a link: others than those named may change
};

/// One manifest as read.
struct ReadFile {
  std::string path;
  uint64_t content = 0;               // differs when the content does
  StatusOr<SourcePodRef> pod;         // the error names the file
  std::vector<std::string> warnings;  // fields that are ignored
};

/// What a look at one entry of the directory found.
struct Look {
  enum class Found {
    kNone,      // nothing, or what is no manifest
    kManifest,  // `read` is set
    kUnclear,   // only a look at all tells: it is a link, or the directory is away
  };
  std::string path;
  Found found = Found::kUnclear;
  ReadFile read;
};

/// When something was seen: to measure, and for people.
struct SeenAt {
  Clock::Time now;
  WallTime wall;
};

class FileCatalog {
 public:
  explicit FileCatalog(Duration period) : period_(period) {}

  /// From the time before this start.
  void Remember(const SourcePodRef& pod);
  void OnListing(const Listing& listing, Clock::Time now);
  void OnRead(const ReadFile& read, const SeenAt& at);
  /// The others are as they were; not of one that is unclear.
  void OnLook(const Look& look, const SeenAt& at);

  SourceSet Set() const;
  /// Of a manifest, as far as the last look at it tells.
  bool IsThere(const std::string& path) const;
  bool IsListed() const { return outcome_ == Listing::Outcome::kListed; }
  /// How long until the next look, when no event comes before.
  Duration NextLook(Clock::Time now) const;
  /// What a look is due at before the regular one: manifests that vanished, or cannot be used.
  std::vector<std::string> Due(Clock::Time now) const;
  /// Grows when Set() may have changed.
  uint64_t version() const { return version_; }

 private:
  struct File {
    SourcePodRef good;       // last good; nullptr: none known
    bool judged = false;     // looked at in this start
    std::string problem;     // why the newest content cannot be used
    WallTime problem_since;  // without problem: when `good` was read
    std::vector<std::string> warnings;
    uint64_t content = 0;
    int bad_looks = 0;          // at the same content, after the first: it may be half written then
    int restless_looks = 0;     // in a row, each at another content that cannot be used
    Clock::Time look_again;     // without a problem: no time
    Clock::Time missing_since;  // no time: it is there
    bool shadowed = false;      // missing: another manifest of its pod came first when it vanished
    bool copy = false;          // it was there when an earlier manifest of its pod vanished
    Duration gap = kVanishedGap;  // how long it must be missing; longer when the whole path was
  };
  void OnListed(const Listing& listing, Clock::Time now);
  void OnPathMissing(Clock::Time now);
  using Files = std::map<std::string, File>;
  void FindRemembered(const std::set<std::string>& there);
  void OnPresent(File& file);
  /// The one after `at`, which may be gone.
  Files::iterator OnAbsent(Files::iterator at, Clock::Time now);
  void SetMissing(Files::iterator at, Clock::Time now);
  static bool AreOfOnePod(const File& one, const File& other);
  std::optional<Duration> NextLookAt(const File& file, Clock::Time now) const;
  void AddPod(const std::string& path, SourceSet& set,
              std::map<std::string, std::string>& taken) const;
  void AddCompleteness(SourceSet& set) const;

  const Duration period_;
  Files files_;  // by path: the first by name wins
  Listing::Outcome outcome_ = Listing::Outcome::kUnreadable;
  std::string unreadable_ = "not read yet";
  Clock::Time path_missing_since_;
  uint64_t version_ = 0;
};

}  // namespace splitlet::config_source
