#pragma once

/// The blocking parts of a round of images: what there is, and the removal of what was chosen.
/// Threads: one strand.
/// Errors: of the listings; of single removals in the report.
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
  /// Named by runtime or configuration, then in `seen`, or pinned. Else any image may be it.
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
  std::vector<ImageRemoval> old;    // all of them
  std::vector<ImageRemoval> space;  // until `wanted` is freed
  uint64_t wanted = 0;
  bool all = false;  // of `space`, however much that frees
  ImageFs fs;
  bool dry_run = false;
};

/// A round that goes on one image at a time, so that before each removal somebody can look whether
/// the image is wanted by then. Loop thread; no I/O.
class ImageRound {
 public:
  ImageRound(ImagePlan plan, WallTime now);
  bool dry_run() const { return plan_.dry_run; }
  /// The next one to try; nullopt when there is none, or enough is free. Each is given once.
  std::optional<ImageRemoval> Next();
  /// What came of it; without an error it is gone, or would be.
  void Note(const ImageRemoval& image, const Status& removed);
  /// It stays, and why.
  void Keep(const std::string& what) { report_.kept.push_back(what); }
  /// The error says when less than wanted was freed, or a removal failed. At the end.
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

/// False when a container uses it by now: what was planned may be minutes old. Blocks.
StatusOr<bool> RemoveImage(const ImageDeps& deps, const ImageRemoval& image,
                           const GcConfig& config);

}  // namespace splitlet::gc
