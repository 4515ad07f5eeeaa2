#pragma once

/// The steps of one round over images: list, choose the next image, remove it.
/// Threads: ListImages and RemoveImage block and run on the strand of rounds; ImageRound runs on
/// the loop.
/// Errors: those of the listings; a failed removal is in the report.
/// Source: docs/behaviour/garbage-collection.md, "Images".

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/collect/images/image_usage.h"
#include "services/gc/collect/report.h"

namespace splitlet::gc {

struct ImageListing {
  ImageUsage::Seen seen;
  /// The runtime or the configuration names the sandbox image, or an image is pinned. Otherwise any
  /// image may be the sandbox image.
  bool sandbox_image_known = false;
  std::string mountpoint;
  ImageFs fs;
};

struct ImageDeps {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Reader& reader;
  cri::Images& images;
  cri::Remover& remover;
};

StatusOr<ImageListing> ListImages(const ImageDeps& deps, const GcConfig& config);

struct ImagePlan {
  std::vector<ImageRemoval> old;    // all are removed
  std::vector<ImageRemoval> space;  // removed until `wanted` bytes are free
  uint64_t wanted = 0;
  bool all = false;  // remove all of `space`, however much that frees
  ImageFs fs;
  bool dry_run = false;
};

/// A round that removes one image at a time, so that the caller checks before each removal whether
/// a pod needs the image now. Does no I/O.
class ImageRound {
 public:
  ImageRound(ImagePlan plan, WallTime now);
  bool dry_run() const { return plan_.dry_run; }
  /// The next image to remove; nullopt when there is none or enough is free. Gives each image once.
  std::optional<ImageRemoval> Next();
  /// Records the result of a removal; OK in a dry run: the image would be removed.
  void Record(const ImageRemoval& image, const Status& removed);
  /// Records what stays, and why.
  void Keep(const std::string& what) { report_.kept.push_back(what); }
  /// Ends the round. The report has an error when less than wanted was freed or a removal failed.
  Report Finish();
  /// Less than wanted was freed.
  bool insufficient() const { return freed_ < plan_.wanted; }

 private:
  std::string Insufficient() const;

  ImagePlan plan_;
  Report report_;
  std::set<std::string> given_;
  size_t next_old_ = 0, next_space_ = 0;
  uint64_t freed_ = 0;
  std::string first_error_;
  size_t errors_ = 0;
};

/// False when a container uses the image now: the plan may be minutes old. Blocks.
StatusOr<bool> RemoveImage(const ImageDeps& deps, const ImageRemoval& image,
                           const GcConfig& config);

}  // namespace splitlet::gc
