#include "services/config-source/sources/file/file_source.h"

#include <algorithm>
#include <utility>

#include "libs/kube/pod_types.h"

namespace splitlet::config_source {
namespace {

/// So many manifests are handed over together: the first pods start while the last ones are still
/// read.
constexpr size_t kBatch = 16;
const char* const kStrand = "source-file";
/// The first hints are followed at once, also those of a file that is written beside and renamed.
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
      hints_(deps_.clock, kHints),
      watching_(deps_.clock, kWatching) {}

FileSource::~FileSource() {
  deps_.loop.CancelTimer(timer_);
  deps_.loop.CancelTimer(watch_timer_);
}

void FileSource::Start(std::vector<SourcePodRef> remembered, OnSet on_set) {
  on_set_ = std::move(on_set);
  for (const auto& pod : remembered) catalog_.Remember(pod);
  Watch();
  StartLook();
}

/// On the strand of the looks: it touches the file system, which may hang, and the first look comes
/// after it, so that it sees what the watch has not seen.
void FileSource::Watch() {
  deps_.strands.Run(kStrand, [this] {
    const Status watched = deps_.watcher->Start(
        options_.path,
        {[this](const fs::Hint& hint) { deps_.loop.Post([this, hint] { OnHint(hint); }); },
         [this](const Status& why) { deps_.loop.Post([this, why] { OnWatchLost(why); }); }});
    deps_.loop.Post([this, watched] { OnWatched(watched); });
  });
}

void FileSource::OnWatched(const Status& watched) {
  if (!watched.ok()) return OnWatchLost(watched);
  deps_.on_watched(true);
  if (std::exchange(unwatched_, {}).empty()) return;
  deps_.log.Info("manifests are watched again", {KV("path", options_.path)});
  OnHint(fs::Hint::Anything());  // what changed meanwhile
}

/// The periodic look still finds everything, only later.
void FileSource::OnWatchLost(const Status& why) {
  const std::string before = std::exchange(unwatched_, ToString(why));
  if (unwatched_ != before)
    deps_.log.Warn("manifests are not watched; changes are found by the periodic look only",
                   {KV("path", options_.path), KV("err", why)});
  deps_.on_watched(false);
  deps_.loop.CancelTimer(watch_timer_);
  watch_timer_ = deps_.loop.RunAfter(watching_.Next(kWatchKey), [this] {
    watch_timer_ = 0;
    Watch();
  });
}

void FileSource::OnHint(const fs::Hint& hint) {
  if (hint.anything()) hinted_.Add(hint);
  // Behind a hidden name may be what links lead to.
  for (const auto& name : hint.names())
    if (links_ || !name.starts_with('.')) hinted_.Add(name);
  if (!reading_ && !hinted_.empty()) Arm();
}

void FileSource::Arm() {
  deps_.loop.CancelTimer(std::exchange(timer_, 0));
  const Clock::Time now = deps_.clock.Now();
  Duration wait = std::min(catalog_.NextLook(now), std::max(Duration{0}, regular_at_ - now));
  if (!hinted_.empty()) wait = std::min(wait, hints_.Remaining(kHintKey));
  if (wait == Duration{0}) return StartLook();
  timer_ = deps_.loop.RunAfter(wait, [this] {
    timer_ = 0;
    StartLook();
  });
}

void FileSource::StartLook() {
  using Which = ManifestReader::Which;
  const Clock::Time now = deps_.clock.Now();
  const fs::Hint hint = std::exchange(hinted_, {});
  if (!hint.empty()) hints_.Next(kHintKey);
  deps_.loop.CancelTimer(timer_);
  timer_ = deps_.loop.RunAfter(kLookLimit, [this] { OnStuck(); });
  reading_ = true;
  if (now >= regular_at_ || !catalog_.IsListed()) return LookAtAll(Which::kAll);
  auto paths = PathsToLookAt(hint, now);
  if (paths.empty()) return LookAtAll(hint.empty() ? Which::kAll : Which::kChanged);
  LookAt(std::move(paths));
}

std::vector<std::string> FileSource::PathsToLookAt(const fs::Hint& hint, Clock::Time now) const {
  if (hint.anything() || links_) return {};
  std::vector<std::string> paths = catalog_.Due(now);
  for (const auto& name : hint.names()) paths.push_back(options_.path + "/" + name);
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

void FileSource::LookAt(std::vector<std::string> paths) {
  deps_.strands.Run(kStrand, [this, reader = reader_, paths = std::move(paths), at = Now()] {
    std::vector<Look> looks;
    for (const auto& path : paths) looks.push_back(reader->LookAt(path, at.wall));
    deps_.loop.Post([this, looks = std::move(looks), at] {
      OnLooks(looks);
      OnLookDone(at.now);
    });
  });
}

void FileSource::OnLooks(const std::vector<Look>& looks) {
  const bool unclear = std::ranges::any_of(
      looks, [](const Look& look) { return look.found == Look::Found::kUnclear; });
  if (unclear || !catalog_.IsListed()) return hinted_.Add(fs::Hint::Anything());
  for (const Look& look : looks) catalog_.OnLook(look, Now());
  PutSet();
}

void FileSource::LookAtAll(ManifestReader::Which which) {
  deps_.strands.Run(kStrand, [this, reader = reader_, which, at = Now()] {
    Listing listing = reader->List();
    reader->Collect(listing);
    const std::vector<std::string> paths = listing.paths;
    deps_.loop.Post([this, l = std::move(listing)] { OnListing(l); });
    std::vector<ReadFile> batch;
    for (const auto& path : paths) {
      if (auto read = reader->Read(path, which, at.wall)) batch.push_back(*std::move(read));
      if (batch.size() < kBatch) continue;
      deps_.loop.Post([this, b = std::exchange(batch, {})] { OnRead(b); });
    }
    deps_.loop.Post([this, b = std::move(batch), at, which] {
      OnRead(b);
      if (which == ManifestReader::Which::kAll) regular_at_ = deps_.clock.Now() + options_.period;
      OnLookDone(at.now);
    });
  });
}

void FileSource::OnListing(const Listing& listing) {
  for (const auto& path : listing.skipped) {
    if (std::ranges::count(skipped_, path) == 0)
      deps_.log.Info("not a manifest, skipped", {KV("path", path)});
  }
  skipped_ = listing.skipped;
  links_ = listing.links;
  const bool unreadable = listing.outcome == Listing::Outcome::kUnreadable;
  const std::string before = std::exchange(unlisted_, unreadable ? ToString(listing.status) : "");
  if (unreadable && unlisted_ != before)
    deps_.log.Warn("manifests cannot be listed; the pods known from them stay",
                   {KV("path", options_.path), KV("err", listing.status)});
  if (!unreadable && !before.empty())
    deps_.log.Info("manifests are listed again", {KV("path", options_.path)});
  catalog_.OnListing(listing, deps_.clock.Now());
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
                       std::chrono::duration_cast<std::chrono::seconds>(kLookLimit).count());
  deps_.log.Warn("manifests cannot be read", {KV("path", options_.path), KV("err", stuck.status)});
  catalog_.OnListing(stuck, deps_.clock.Now());
  PutSet();
}

void FileSource::OnLookDone(Clock::Time started) {
  reading_ = false;
  deps_.on_read_time(deps_.clock.Now() - started);
  Arm();
}

void FileSource::PutSet() {
  if (reported_version_ == catalog_.version()) return;
  reported_version_ = catalog_.version();
  const SourceSet set = catalog_.Set();
  problems_.Report(deps_.log, name_, set.problems,
                   [this](const std::string& path) { return catalog_.IsThere(path); });
  on_set_(set);
}

}  // namespace splitlet::config_source
