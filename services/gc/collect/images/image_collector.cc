#include "services/gc/collect/images/image_collector.h"

#include <fmt/ranges.h>

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/image_name.h"
#include "libs/kube/pod_bytes.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {

ImageCollector::ImageCollector(const Deps& deps, const GcConfig& config)
    : deps_(deps),
      config_(config),
      usage_(deps.images.clock.Now()),
      asker_(deps.env.loop, deps.env.strands) {}

void ImageCollector::OnDesiredState() {
  if (deps_.desired.LiveAndComplete()) {
    incomplete_since_ = {};
  } else if (!incomplete_since_) {
    incomplete_since_ = deps_.images.clock.Now();
  }
}

void ImageCollector::Collect(ImageOrder order, Finish finish) {
  if (!order.all_unused && config_.image_high_percent == 100 &&
      config_.image_max_age == Duration{0})
    return finish({});
  asker_.Ask(
      std::string(kRoundStrand),
      [deps = deps_.images, &config = config_] { return ListImages(deps, config); },
      [this, order, finish = std::move(finish)](const StatusOr<ImageListing>& listing) {
        OnListed(listing, order, finish);
      });
}

bool ImageCollector::IsOver(const std::string& key, const v1::DesiredRecord& desired) const {
  const auto worker = deps_.workers.Find(key);
  return worker != nullptr && worker->incarnation() == desired.incarnation() &&
         worker->state() == v1::FINISHED && worker->shutdown_boot() == 0;
}

bool ImageCollector::AddWantedImages(std::set<std::string>& names) const {
  bool readable = true;
  deps_.desired.ForEach(
      [&](const std::string& key, const std::shared_ptr<const v1::DesiredRecord>& record) {
        // The static pod of a mirror pod names the images that run.
        if (record != nullptr && record->state() == v1::DesiredRecord::MIRROR) return;
        if (record != nullptr && IsOver(key, *record)) return;
        const auto pod = record == nullptr ? NotFound("no record") : kube::ParsePod(record->pod());
        readable = readable && pod.ok();
        if (!pod.ok()) return;
        for (const auto& image : kube::ImagesOf(pod->spec()))
          names.insert(kube::NormalImageName(image));
      });
  return readable;
}

void ImageCollector::OnListed(const StatusOr<ImageListing>& listing, ImageOrder order,
                              const Finish& finish) {
  CHECK(deps_.env.loop.IsCurrent());
  Report report;
  report.dry_run = order.dry_run;
  report.at = deps_.images.clock.WallNow();
  const auto end = [&] {
    OnRemoved(report);
    finish(report);
  };
  if (!listing.ok()) {
    report.error = ToString(listing.status());
    return end();
  }
  ImageListing found = *listing;
  for (const auto& image : found.seen.images)
    if (image.id.empty() && !order.dry_run)
      deps_.node_events.Warn("InvalidImageID", "ImageID is not valid, skipping, image: " +
                                                   fmt::format("{}", fmt::join(image.tags, ", ")));
  const bool readable = AddWantedImages(found.seen.wanted);
  usage_.Observe(found.seen, deps_.images.clock.Now());
  if (found.fs.capacity_bytes == 0) {
    report.error = "invalid capacity 0 on image filesystem";
    deps_.node_events.Warn("InvalidDiskCapacity", report.error);
    return end();
  }
  const std::string stay = WhyImagesStay(found, readable);
  // After a start the desired pods arrive within moments, which is no reason for a warning.
  if (std::exchange(problem_, stay) != stay && !stay.empty())
    deps_.env.log.At(readable ? LogLevel::kInfo : LogLevel::kWarn,
                     "skipping image garbage collection", {KV("reason", stay)});
  if (!stay.empty()) {
    report.kept.push_back("images: " + stay);
    return end();
  }
  const Clock::Time now = deps_.images.clock.Now();
  ImagePlan plan{.old = usage_.TooOld(config_, now),
                 .space = usage_.Removable(config_, now),
                 .wanted = order.all_unused ? 0 : BytesToFree(found.fs, config_),
                 .all = order.all_unused,
                 .fs = found.fs,
                 .dry_run = order.dry_run};
  Next(std::make_shared<Run>(
      Run{ImageRound(std::move(plan), deps_.images.clock.WallNow()), now, finish}));
}

/// After kSourcePatience, images are removed although a source is incomplete. The pods that it
/// showed before run, and their containers hold their images; at worst a new pod pulls an image
/// again. A source that has not been read at all always delays the removal.
std::string ImageCollector::WhyImagesStay(const ImageListing& listing, bool readable) const {
  if (!readable) return "a pod's record cannot be read";
  if (!deps_.desired.live()) return "the desired pods are not known yet";
  const bool given_up = !deps_.desired.completeness().scopes.empty() && incomplete_since_ &&
                        deps_.images.clock.Now() - incomplete_since_ >= kSourcePatience;
  if (!deps_.desired.IsComplete() && !given_up)
    return "a pod source is incomplete, so not all desired pods are known; \"splitletctl get "
           "sources\" says why";
  if (!listing.sandbox_image_known)
    return "the runtime does not name its sandbox image; "
           "set splitlet.sandboxImage";
  return "";
}

/// Reads the views before each removal: a pod may have come since the last one.
void ImageCollector::Next(const std::shared_ptr<Run>& run) {
  CHECK(deps_.env.loop.IsCurrent());
  std::set<std::string> wanted;
  const bool known = AddWantedImages(wanted) && deps_.desired.live();
  while (auto image = run->round.Next()) {
    if (!known) {
      run->round.Keep("images: the desired pods are not known any more");
      break;
    }
    if (Meet(image->names, wanted)) {
      run->round.Keep(fmt::format("image {}: a pod needs it now", image->id));
      continue;
    }
    if (run->round.dry_run()) {
      run->round.Record(*image, OkStatus());
      continue;
    }
    return Remove(run, *image);
  }
  End(*run);
}

void ImageCollector::Remove(const std::shared_ptr<Run>& run, const ImageRemoval& image) {
  asker_.Ask(
      std::string(kRoundStrand),
      [deps = deps_.images, image, &config = config_] { return RemoveImage(deps, image, config); },
      [this, run, image](const StatusOr<bool>& removed) {
        if (removed.ok() && !*removed) {
          run->round.Keep(fmt::format("image {}: a container uses it now", image.id));
        } else {
          run->round.Record(image, removed.status());
        }
        Next(run);
      });
}

void ImageCollector::End(Run& run) {
  deps_.metrics.ObserveRound("images", deps_.images.clock.Now() - run.began);
  const bool insufficient = run.round.insufficient();
  const Report done = run.round.Finish();
  if (!done.dry_run && insufficient) deps_.node_events.Warn("FreeDiskSpaceFailed", done.error);
  OnRemoved(done);
  run.finish(done);
}

void ImageCollector::OnRemoved(const Report& report) {
  if (report.dry_run) return;
  deps_.removal_log.Record(RemovalLog::Part::kImages, report);
  for (const auto& item : report.items) {
    if (item.removed) usage_.Forget(item.name);
  }
  last_ = report;
  if (report.error.empty()) {
    failures_ = 0;
    return;
  }
  // A first failure may be a start at which the runtime has no statistics yet.
  if (++failures_ == 1) {
    deps_.env.log.Warn("image garbage collection failed; the next round tries again",
                       {KV("err", report.error)});
  } else {
    deps_.node_events.Warn("ImageGCFailed", report.error);
  }
}

}  // namespace splitlet::gc
