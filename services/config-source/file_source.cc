#include "services/config-source/file_source.h"

#include <algorithm>
#include <utility>

#include "libs/kube/pod_types.h"

namespace splitlet::config_source {
namespace {

/// So many manifests are handed over together: the first pods start while the last ones are still
/// read.
constexpr size_t kBatch = 16;
const char* const kStrand = "source-file";

}  // namespace

FileSource::FileSource(Deps deps, Options options)
    : name_(kube::kFileSource),
      deps_(std::move(deps)),
      options_(std::move(options)),
      reader_(std::make_shared<ManifestReader>(deps_.files, options_.path, options_.node_name,
                                               deps_.decode)),
      catalog_(options_.period) {}

FileSource::~FileSource() { deps_.loop.CancelTimer(timer_); }

void FileSource::Start(std::vector<SourcePodRef> remembered, OnSet on_set) {
  on_set_ = std::move(on_set);
  for (const auto& pod : remembered) catalog_.Remember(pod);
  const Status watched =
      deps_.watcher->Start(options_.path, [this] { deps_.loop.Post([this] { OnHint(); }); });
  // Without a watch the periodic look still finds everything, only later.
  deps_.log.LogIfError(watched, "watch the manifests");
  StartPass();
}

void FileSource::OnHint() {
  if (reading_) {
    again_ = true;
  } else {
    StartPass();
  }
}

void FileSource::StartPass() {
  deps_.loop.CancelTimer(timer_);
  timer_ = deps_.loop.RunAfter(kLookLimit, [this] { OnStuck(); });
  reading_ = true;
  again_ = false;
  deps_.strands.Run(kStrand, [this, reader = reader_, started = deps_.clock.Now()] {
    Listing listing = reader->List();
    reader->Collect(listing);
    const std::vector<std::string> paths = listing.paths;
    deps_.loop.Post([this, l = std::move(listing)] { OnListing(l); });
    std::vector<ReadFile> batch;
    for (const auto& path : paths) {
      if (auto read = reader->Read(path)) batch.push_back(*std::move(read));
      if (batch.size() < kBatch) continue;
      deps_.loop.Post([this, b = std::exchange(batch, {})] { OnRead(b); });
    }
    deps_.loop.Post([this, b = std::move(batch), started] {
      OnRead(b);
      OnPassDone(started);
    });
  });
}

void FileSource::OnListing(const Listing& listing) {
  for (const auto& path : listing.skipped) {
    if (std::ranges::count(skipped_, path) == 0)
      deps_.log.Info("not a manifest, skipped", {KV("path", path)});
  }
  skipped_ = listing.skipped;
  catalog_.OnListing(listing, deps_.clock.Now());
}

void FileSource::OnRead(const std::vector<ReadFile>& batch) {
  for (const auto& read : batch) catalog_.OnRead(read, deps_.clock.WallNow());
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

void FileSource::OnPassDone(Clock::Time started) {
  reading_ = false;
  deps_.on_read_time(deps_.clock.Now() - started);
  if (again_) {
    StartPass();
  } else {
    Arm(catalog_.NextLook(deps_.clock.Now()));
  }
}

void FileSource::PutSet() {
  if (told_version_ == catalog_.version()) return;
  told_version_ = catalog_.version();
  const SourceSet set = catalog_.Set();
  problems_.Tell(deps_.log, name_, set.problems);
  on_set_(set);
}

void FileSource::Arm(Duration delay) {
  deps_.loop.CancelTimer(timer_);
  timer_ = deps_.loop.RunAfter(delay, [this] {
    timer_ = 0;
    StartPass();
  });
}

}  // namespace splitlet::config_source
