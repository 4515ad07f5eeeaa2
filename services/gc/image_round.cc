#include "services/gc/image_round.h"

#include <utility>

#include "libs/base/fail_point.h"

namespace splitlet::gc {
namespace {

Status RemoveImage(const ImageDeps& deps, const std::string& id, const GcConfig& config) {
  FAIL_POINT("gc.remove-image.before");
  RETURN_IF_ERROR(deps.remover.RemoveImage(id, After(deps.clock, config.call_limit)),
                  "remove image");
  FAIL_POINT("gc.remove-image.after");
  return OkStatus();
}

class Round {
 public:
  Round(const ImageDeps& deps, const ImagePlan& plan, const GcConfig& config)
      : deps_(deps), plan_(plan), config_(config) {}

  Report Run() {
    report_.dry_run = plan_.dry_run;
    report_.at = deps_.clock.WallNow();
    for (const auto& image : plan_.old) Remove(image);
    for (const auto& image : plan_.space) {
      if (freed_ >= plan_.wanted) break;
      if (!done_.contains(image.id)) Remove(image);
    }
    if (freed_ < plan_.wanted) report_.error = Insufficient();
    return std::move(report_);
  }

 private:
  void Remove(const ImageRemoval& image) {
    done_.insert(image.id);
    ReportItem item{"image", image.id, image.reason, image.bytes, false, "", ""};
    const Status removed = plan_.dry_run ? OkStatus() : RemoveImage(deps_, image.id, config_);
    if (removed.ok()) {
      freed_ += image.bytes;
      item.removed = !plan_.dry_run;
    } else {
      item.error = ToString(removed);
    }
    report_.items.push_back(std::move(item));
  }

  std::string Insufficient() const {
    return fmt::format(
        "Insufficient free disk space on the node's image filesystem ({}% of {} used). Failed to "
        "free sufficient space "
        "by deleting unused images (freed {} bytes). Investigate disk usage, as it could be used "
        "by active images, "
        "logs, volumes, or other data.",
        UsedPercent(plan_.fs), HumanBytes(plan_.fs.capacity_bytes), freed_);
  }

  const ImageDeps& deps_;
  const ImagePlan& plan_;
  const GcConfig& config_;
  Report report_;
  std::set<std::string> done_;
  uint64_t freed_ = 0;
};

}  // namespace

StatusOr<ImageListing> ListImages(const ImageDeps& deps, const GcConfig& config) {
  ImageListing listing;
  const Deadline deadline = After(deps.clock, config.call_limit);
  // Images first: one that is pulled and put to use in between is not in the list.
  ASSIGN_OR_RETURN(listing.look.images, deps.images.ListImages(deadline), "list images");
  ASSIGN_OR_RETURN(listing.look.containers, deps.reader.ListContainers({}, deadline),
                   "list containers");
  ASSIGN_OR_RETURN(const auto file_systems, deps.images.ImageFsInfo(deadline), "image file system");
  if (file_systems.empty()) return NotFound("the runtime names no image file system");
  listing.mountpoint = file_systems.front().mountpoint;
  ASSIGN_OR_RETURN(const auto usage, deps.files.Usage(listing.mountpoint), "usage of {}",
                   listing.mountpoint);
  listing.fs = {usage.capacity_bytes, std::min(usage.available_bytes, usage.capacity_bytes)};
  return listing;
}

Report RemoveImages(const ImageDeps& deps, const ImagePlan& plan, const GcConfig& config) {
  return Round(deps, plan, config).Run();
}

}  // namespace splitlet::gc
