#pragma once

/// Removes unused images, in rounds: images that are too old, then the longest unused images
/// until enough of the disk is free.
/// In:    orders of GarbageCollector; the views `desired` and `workers`, read before each removal.
/// Owns:  when each image was in use (ImageUsage), the report of the last round, since when
/// `desired` has not been complete.
/// Out:   removals in the runtime; node events when too little could be freed.
/// Killed at any line: the next start lists again and counts every image as young.
/// Threads: loop thread; listing and removing on the strand of rounds.
/// Errors: in the report of the round.
/// Source: docs/safety.md, rule 25.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/gc/collect/images/image_round.h"
#include "services/gc/collect/images/image_usage.h"
#include "services/gc/collect/removal_log.h"
#include "services/gc/collect/report.h"
#include "services/gc/collect/round_queue.h"
#include "services/gc/config.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct ImageOrder {
  bool dry_run = false;
  bool all_unused = false;  // whatever the thresholds: the node is short of disk
};

class ImageCollector {
 public:
  using Finish = std::function<void(const Report&)>;
  struct Deps {
    exec::Env env;
    ImageDeps images;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    NodeEvents& node_events;
    RemovalLog& removal_log;
    GcMetrics& metrics;
  };
  ImageCollector(const Deps& deps, const GcConfig& config);

  /// Runs a round; calls `finish` on the loop, once.
  void Collect(ImageOrder order, Finish finish);
  /// `desired` became live or complete, or is so no longer.
  void OnDesiredState();
  const Report& last() const { return last_; }

 private:
  struct Run {
    ImageRound round;
    Clock::Time began;
    Finish finish;
  };
  void OnListed(const StatusOr<ImageListing>& listing, ImageOrder order, const Finish& finish);
  /// Why no image may be removed now; empty: images may be removed.
  std::string WhyImagesStay(const ImageListing& listing, bool readable) const;
  void Next(const std::shared_ptr<Run>& run);
  void Remove(const std::shared_ptr<Run>& run, const ImageRemoval& image);
  void End(Run& run);
  void OnRemoved(const Report& report);
  /// The pod starts no container any more.
  bool IsOver(const std::string& key, const v1::DesiredRecord& desired) const;
  /// Adds the images of pods that are not over; false when a pod's images cannot be read.
  bool AddWantedImages(std::set<std::string>& names) const;

  Deps deps_;
  const GcConfig& config_;
  ImageUsage usage_;
  Report last_;
  int failures_ = 0;  // in a row
  std::string problem_;
  Clock::Time
      incomplete_since_;     // since when `desired` is incomplete; no time: it is live and complete
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
