#include "services/gc/collect/images/image_round.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/kube/image_name.h"

namespace splitlet::gc {
ImageRound::ImageRound(ImagePlan plan, WallTime now) : plan_(std::move(plan)) {
  report_.dry_run = plan_.dry_run;
  report_.at = now;
}

std::optional<ImageRemoval> ImageRound::Next() {
  if (next_old_ < plan_.old.size()) {
    const ImageRemoval& image = plan_.old[next_old_++];
    given_.insert(image.id);
    return image;
  }
  while ((plan_.all || freed_ < plan_.wanted) && next_space_ < plan_.space.size()) {
    const ImageRemoval& image = plan_.space[next_space_++];
    if (given_.insert(image.id).second) return image;
  }
  return std::nullopt;
}

void ImageRound::Record(const ImageRemoval& image, const Status& removed) {
  ReportItem item{.kind = "image", .name = image.id, .reason = image.reason, .bytes = image.bytes};
  if (removed.ok()) {
    freed_ += image.bytes;
    item.removed = !plan_.dry_run;
  } else {
    item.error = ToString(removed);
    if (errors_++ == 0) first_error_ = item.error;
  }
  report_.items.push_back(std::move(item));
}

Report ImageRound::Finish() {
  if (insufficient()) {
    report_.error = Insufficient();
  } else if (errors_ > 0) {
    report_.error = fmt::format("{} images could not be removed: {}", errors_, first_error_);
  }
  return std::move(report_);
}

std::string ImageRound::Insufficient() const {
  return fmt::format(
      "Insufficient free disk space on the node's image filesystem ({}% of {} used). Failed to "
      "free sufficient space "
      "by deleting unused images (freed {} bytes). Investigate disk usage, as it could be used "
      "by active images, "
      "logs, volumes, or other data.",
      UsedPercent(plan_.fs), HumanBytes(plan_.fs.capacity_bytes), freed_);
}

StatusOr<bool> RemoveImage(const ImageDeps& deps, const ImageRemoval& image,
                           const GcConfig& config) {
  const Deadline deadline = After(deps.clock, config.call_limit);
  ASSIGN_OR_RETURN(const auto containers, deps.reader.ListContainers({}, deadline),
                   "list containers");
  if (Meet(image.names, NamesUsedBy(containers))) return false;
  FAIL_POINT("gc.remove-image.before");
  RETURN_IF_ERROR(deps.remover.RemoveImage(image.id, deadline), "remove image");
  FAIL_POINT("gc.remove-image.after");
  return true;
}

StatusOr<ImageListing> ListImages(const ImageDeps& deps, const GcConfig& config) {
  ImageListing listing;
  const Deadline deadline = After(deps.clock, config.call_limit);
  // List images first: an image that is pulled and used in between is then not in the list.
  ASSIGN_OR_RETURN(listing.seen.images, deps.images.ListImages(deadline), "list images");
  ASSIGN_OR_RETURN(listing.seen.containers, deps.reader.ListContainers({}, deadline),
                   "list containers");
  ASSIGN_OR_RETURN(const std::string named, deps.images.SandboxImage(deadline), "sandbox image");
  for (const auto& name : {named, config.sandbox_image}) {
    if (!name.empty()) listing.seen.wanted.insert(kube::NormalImageName(name));
  }
  listing.sandbox_image_known =
      !listing.seen.wanted.empty() ||
      std::ranges::any_of(listing.seen.images, [](const auto& image) { return image.pinned; });
  ASSIGN_OR_RETURN(const auto report, deps.images.ImageFsInfo(deadline), "image file system");
  if (report.images.empty()) return NotFound("the runtime reports no image file system");
  listing.mountpoint = report.images.front().mountpoint;
  ASSIGN_OR_RETURN(const auto usage, deps.files.Usage(listing.mountpoint), "usage of {}",
                   listing.mountpoint);
  listing.fs = {usage.capacity_bytes, std::min(usage.available_bytes, usage.capacity_bytes)};
  return listing;
}

}  // namespace splitlet::gc
