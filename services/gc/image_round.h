#pragma once

/// The blocking parts of a round of images: what there is, and the removal of what was chosen.
/// Threads: one strand. Errors: of the listings; of single removals in the report.
/// Source: gc-and-eviction spec 2.2, 2.3.

#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/images.h"
#include "services/gc/report.h"

namespace splitlet::gc {

struct ImageListing {
  ImageBook::Look look;
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
  ImageFs fs;
  bool dry_run = false;
};

/// The report's error says when less than wanted was freed.
Report RemoveImages(const ImageDeps& deps, const ImagePlan& plan, const GcConfig& config);

}  // namespace splitlet::gc
