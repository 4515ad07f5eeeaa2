#include "services/config-source/sources/file/file_source.h"

#include <algorithm>
#include <utility>

#include "libs/kube/pod_types.h"

namespace splitlet::config_source {
namespace {

/// This many manifests are delivered together: the first pods start while the last ones are read.
constexpr size_t kBatch = 16;
const char* const kStrand = "source-file";
/// The first hints are followed immediately, also those of a file that is written aside and
/// renamed.
constexpr exec::Backoff::Options kHints{.initial = std::chrono::milliseconds{1},
                                        .max = std::chrono::milliseconds{100}};
constexpr exec::Backoff::Options kWatching{.initial = std::chrono::seconds{1},
                                           .max = std::chrono::seconds{20}};
const std::string kHintKey = "hint", kWatchKey = "watch";

}  // namespace

FileSource::FileSource(Deps deps, Options options)
    : name_(kube::kFileSource),
      deps_(std::move(deps)),
      options_(std::move(options)),
      reader_(std::make_shared<ManifestReader>(deps_.files, options_.path, options_.node_name,
                                               deps_.decode)),
      catalog_(options_.period),
      hints_(deps_.env.clock, kHints),
      watching_(deps_.env.clock, kWatching) {}

FileSource::~FileSource() {
  deps_.env.loop.CancelTimer(timer_);
  deps_.env.loop.CancelTimer(watch_timer_);
}

void FileSource::Start(std::vector<SourcePodRef> saved, OnSet on_set) {
  on_set_ = std::move(on_set);
  for (const auto& pod : saved) catalog_.Restore(pod);
  Watch();
  StartInspection();
}

/// On the strand of the inspections: the file system may hang, and the first inspection has to
/// follow the watch to see the changes before it.
void FileSource::Watch() {
  deps_.env.strands.Run(kStrand, [this] {
    const Status watched = deps_.watcher->Start(
        options_.path,
        {[this](const fs::Hint& hint) { deps_.env.loop.Post([this, hint] { OnHint(hint); }); },
         [this](const Status& why) { deps_.env.loop.Post([this, why] { OnWatchLost(why); }); }});
    deps_.env.loop.Post([this, watched] { OnWatched(watched); });
  });
}

void FileSource::OnWatched(const Status& watched) {
  if (!watched.ok()) return OnWatchLost(watched);
  deps_.on_watched(true);
  if (std::exchange(unwatched_, {}).empty()) return;
  deps_.env.log.Info("manifests are watched again", {KV("path", options_.path)});
  OnHint(fs::Hint::Anything());  // changes during the gap
}

/// The resync still finds every change, only later.
void FileSource::OnWatchLost(const Status& why) {
  const std::string before = std::exchange(unwatched_, ToString(why));
  if (unwatched_ != before)
    deps_.env.log.Warn("cannot watch manifests, only the periodic read finds changes",
                       {KV("path", options_.path), KV("err", why)});
  deps_.on_watched(false);
  deps_.env.loop.CancelTimer(watch_timer_);
  watch_timer_ = deps_.env.loop.RunAfter(watching_.Next(kWatchKey), [this] {
    watch_timer_ = 0;
    Watch();
  });
}

void FileSource::OnHint(const fs::Hint& hint) {
  if (hint.anything()) hinted_.Add(hint);
  // Links may lead to files behind a hidden name.
  for (const auto& name : hint.names())
    if (links_ || !name.starts_with('.')) hinted_.Add(name);
  if (!reading_ && !hinted_.empty()) Arm();
}

void FileSource::Arm() {
  deps_.env.loop.CancelTimer(std::exchange(timer_, 0));
  const Clock::Time now = deps_.env.clock.Now();
  Duration wait = std::min(catalog_.NextInspection(now), std::max(Duration{0}, resync_at_ - now));
  if (!hinted_.empty()) wait = std::min(wait, hints_.Remaining(kHintKey));
  if (wait == Duration{0}) return StartInspection();
  timer_ = deps_.env.loop.RunAfter(wait, [this] {
    timer_ = 0;
    StartInspection();
  });
}

void FileSource::StartInspection() {
  using Which = ManifestReader::Which;
  const Clock::Time now = deps_.env.clock.Now();
  const fs::Hint hint = std::exchange(hinted_, {});
  if (!hint.empty()) hints_.Next(kHintKey);
  deps_.env.loop.CancelTimer(timer_);
  timer_ = deps_.env.loop.RunAfter(kInspectionLimit, [this] { OnStuck(); });
  reading_ = true;
  if (now >= resync_at_ || !catalog_.IsListed()) return InspectAll(Which::kAll);
  auto paths = PathsToInspect(hint, now);
  if (paths.empty()) return InspectAll(hint.empty() ? Which::kAll : Which::kChanged);
  Inspect(std::move(paths));
}

std::vector<std::string> FileSource::PathsToInspect(const fs::Hint& hint, Clock::Time now) const {
  if (hint.anything() || links_) return {};
  std::vector<std::string> paths = catalog_.Due(now);
  for (const auto& name : hint.names()) paths.push_back(options_.path + "/" + name);
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

void FileSource::Inspect(std::vector<std::string> paths) {
  deps_.env.strands.Run(kStrand, [this, reader = reader_, paths = std::move(paths), at = Now()] {
    std::vector<Inspection> inspections;
    for (const auto& path : paths) inspections.push_back(reader->Inspect(path, at.wall));
    deps_.env.loop.Post([this, inspections = std::move(inspections), at] {
      OnInspections(inspections);
      OnInspectionDone(at.now);
    });
  });
}

void FileSource::OnInspections(const std::vector<Inspection>& inspections) {
  const bool unclear = std::ranges::any_of(inspections, [](const Inspection& inspection) {
    return inspection.found == Inspection::Found::kUnclear;
  });
  if (unclear || !catalog_.IsListed()) return hinted_.Add(fs::Hint::Anything());
  for (const Inspection& inspection : inspections) catalog_.OnInspected(inspection, Now());
  PutSet();
}

void FileSource::InspectAll(ManifestReader::Which which) {
  deps_.env.strands.Run(kStrand, [this, reader = reader_, which, at = Now()] {
    Listing listing = reader->List();
    reader->Collect(listing);
    const std::vector<std::string> paths = listing.paths;
    deps_.env.loop.Post([this, l = std::move(listing)] { OnListing(l); });
    std::vector<ReadFile> batch;
    for (const auto& path : paths) {
      if (auto read = reader->Read(path, which, at.wall)) batch.push_back(*std::move(read));
      if (batch.size() < kBatch) continue;
      deps_.env.loop.Post([this, b = std::exchange(batch, {})] { OnRead(b); });
    }
    deps_.env.loop.Post([this, b = std::move(batch), at, which] {
      OnRead(b);
      if (which == ManifestReader::Which::kAll)
        resync_at_ = deps_.env.clock.Now() + options_.period;
      OnInspectionDone(at.now);
    });
  });
}

void FileSource::OnListing(const Listing& listing) {
  for (const auto& path : listing.skipped) {
    if (std::ranges::count(skipped_, path) == 0)
      deps_.env.log.Info("not a manifest, skipped", {KV("path", path)});
  }
  skipped_ = listing.skipped;
  links_ = listing.links;
  const bool unreadable = listing.outcome == Listing::Outcome::kUnreadable;
  const std::string before = std::exchange(unlisted_, unreadable ? ToString(listing.status) : "");
  if (unreadable && unlisted_ != before)
    deps_.env.log.Warn("cannot list manifests, their pods are kept",
                       {KV("path", options_.path), KV("err", listing.status)});
  if (!unreadable && !before.empty())
    deps_.env.log.Info("manifests can be listed again", {KV("path", options_.path)});
  catalog_.OnListing(listing, deps_.env.clock.Now());
}

void FileSource::OnRead(const std::vector<ReadFile>& batch) {
  for (const auto& read : batch) catalog_.OnRead(read, Now());
  PutSet();
}

void FileSource::OnStuck() {
  timer_ = 0;
  Listing stuck;
  stuck.status =
      DeadlineExceeded("{}: no answer for {} s", options_.path,
                       std::chrono::duration_cast<std::chrono::seconds>(kInspectionLimit).count());
  deps_.env.log.Warn("reading manifests hangs, their pods are kept",
                     {KV("path", options_.path), KV("err", stuck.status)});
  catalog_.OnListing(stuck, deps_.env.clock.Now());
  PutSet();
}

void FileSource::OnInspectionDone(Clock::Time started) {
  reading_ = false;
  deps_.on_read_time(deps_.env.clock.Now() - started);
  Arm();
}

void FileSource::PutSet() {
  if (reported_version_ == catalog_.version()) return;
  reported_version_ = catalog_.version();
  const SourceSet set = catalog_.Set();
  problems_.Report(deps_.env.log, name_, set.problems,
                   [this](const std::string& path) { return catalog_.IsThere(path); });
  on_set_(set);
}

}  // namespace splitlet::config_source
