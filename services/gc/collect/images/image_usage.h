#pragma once

/// Decides which images are removed, from when each was last in use.
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

/// Rounded up, as the thresholds expect. The capacity must not be 0.
int UsedPercent(const ImageFs& fs);
/// Bytes to free to reach the low threshold; 0 when usage is below the high threshold.
uint64_t BytesToFree(const ImageFs& fs, const GcConfig& config);
/// "1.5 GiB"
std::string HumanBytes(uint64_t bytes);

/// All names that containers and pods may use for the image.
std::set<std::string> NamesOf(const cri::Image& image);
/// The names that the containers use for their images.
std::set<std::string> NamesUsedBy(const std::vector<cri::Container>& containers);
bool Meet(const std::set<std::string>& some, const std::set<std::string>& others);

struct ImageRemoval {
  std::string id;
  uint64_t bytes = 0;
  std::string reason;           // "age" or "space"
  std::set<std::string> names;  // all names of the image
};

/// Records when each image was first seen and last in use. A restart forgets this: every image is
/// young then.
class ImageUsage {
 public:
  explicit ImageUsage(Clock::Time now) : started_(now) {}

  struct Seen {
    std::vector<cri::Image> images;
    std::vector<cri::Container> containers;  // also dead containers: they hold their image
    std::set<std::string> wanted;            // normalized names of the images of unfinished pods
  };
  void Observe(const Seen& seen, Clock::Time now);

  /// Images that are too old, however much disk is free.
  std::vector<ImageRemoval> TooOld(const GcConfig& config, Clock::Time now) const;
  /// Images that may be removed to free disk, the longest unused first.
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
