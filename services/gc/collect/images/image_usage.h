#pragma once

/// Which images go, and when they were last in use.
/// Threads: one.
/// Errors: none.
/// Units: bytes, percent.
/// Source: docs/behaviour/garbage-collection.md, "Images"; docs/safety.md, rule 25.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct ImageFs {
  uint64_t capacity_bytes = 0, available_bytes = 0;
};

/// Rounded up, as the thresholds expect. The capacity is not 0.
int UsedPercent(const ImageFs& fs);
/// What has to go to come down to the low threshold; 0 below the high one.
uint64_t BytesToFree(const ImageFs& fs, const GcConfig& config);
/// "1.5 GiB"
std::string HumanBytes(uint64_t bytes);

/// Everything by which containers and pods may call this image.
std::set<std::string> NamesOf(const cri::Image& image);
/// Those by which these containers call theirs.
std::set<std::string> NamesUsedBy(const std::vector<cri::Container>& containers);
bool Meet(const std::set<std::string>& some, const std::set<std::string>& others);

struct ImageRemoval {
  std::string id;
  uint64_t bytes = 0;
  std::string reason;           // "age" or "space"
  std::set<std::string> names;  // all of it
};

/// Remembers when each image was first seen and last in use. Forgotten at a restart: then every
/// image is young.
class ImageUsage {
 public:
  explicit ImageUsage(Clock::Time now) : started_(now) {}

  struct Seen {
    std::vector<cri::Image> images;
    std::vector<cri::Container> containers;  // dead ones too: they hold their image
    std::set<std::string> wanted;            // normal names of images of unfinished pods
  };
  void Observe(const Seen& seen, Clock::Time now);

  /// Those that are too old, whatever the space.
  std::vector<ImageRemoval> TooOld(const GcConfig& config, Clock::Time now) const;
  /// Those that may go for space, the longest unused first.
  std::vector<ImageRemoval> Removable(const GcConfig& config, Clock::Time now) const;
  void Forget(const std::string& id) { records_.erase(id); }
  size_t size() const { return records_.size(); }

 private:
  struct Record {
    Clock::Time first_seen;
    Clock::Time last_used;  // no time: never
    uint64_t bytes = 0;
    std::set<std::string> names;
    bool in_use = false;
    bool pinned = false;
  };
  const Clock::Time started_;
  std::map<std::string, Record> records_;
};

}  // namespace splitlet::gc
