#include "services/gc/gc_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "libs/kube/image_name.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

using Pod = k8s::io::api::core::v1::Pod;
constexpr size_t kMaxJobs = 8;
constexpr const char* kPressureStrand = "pressure";
constexpr const char* kEmptyStrand = "empty-logs";
constexpr Duration kSoon = std::chrono::seconds{10};
constexpr std::string_view kThresholdsFact = "thresholds";
constexpr Duration kFactsRetry = std::chrono::seconds{1};

const prometheus::Histogram::BucketBoundaries kRoundBuckets{0.01, 0.05, 0.1, 0.5, 1,
                                                            5,    10,   30,  60,  120};

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

constexpr const char* kConditions[] = {"MemoryPressure", "DiskPressure", "PIDPressure"};

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

/// Its containers were killed when its grace period was over.
bool IsOverdue(const v1::WorkerRecord& worker, Clock::Time now) {
  const auto& deadline = worker.deadline();
  return worker.state() == v1::TERMINATING && deadline.boot() == now.boot &&
         now.monotonic.count() > deadline.monotonic_ns();
}

}  // namespace

GcService::GcService(GcDeps deps, GcConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics),
      facts_(deps_.files, deps_.clock, {.directory = config_.facts_dir, .this_boot_only = true}),
      images_(deps_.clock.Now()),
      logs_({.clock = deps_.clock,
             .loop = deps_.loop,
             .strands = deps_.strands,
             .rotator = {deps_.clock, deps_.files, deps_.logs, deps_.compress},
             .log = deps_.log,
             .metrics = metrics_,
             .is_ours = [this](const std::string& key) { return deps_.workers.Contains(key); }},
            config_),
      removal_timer_(deps_.loop, kRemovalPeriod, [this] { OnRemovalTimer(); }),
      image_timer_(deps_.loop, kImagePeriod, [this] { OnImageTimer(); }),
      pressure_timer_(deps_.loop, kPressurePeriod, [this] { OnPressureTimer(); }) {
  deps_.runtime.OnChange([this](const bus::View<v1::RuntimeRecord>::Change& change) {
    logs_.OnRuntimeChange(change.key, change.after.get());
    if (change.after != nullptr) OnRuntimeChange(*change.after);
  });
  deps_.workers.OnChange([this](const bus::View<v1::WorkerRecord>::Change& change) {
    if (!change.present_after) {
      traces_.erase(change.key);
    } else if (!change.traceparent.empty()) {
      traces_[change.key] = change.traceparent;
    }
    if (change.after != nullptr && change.after->evicted()) RunSoon();
  });
  deps_.desired.OnState([this] { NoteDesiredState(); });
  NoteDesiredState();
}

void GcService::NoteDesiredState() {
  if (deps_.desired.LiveAndComplete()) {
    incomplete_since_ = {};
  } else if (!incomplete_since_) {
    incomplete_since_ = deps_.clock.Now();
  }
}

void GcService::Start() {
  removal_timer_.Kick();
  image_timer_.Kick();
  ReadFacts();
}

void GcService::ReadFacts() {
  deps_.strands.Run(kPressureStrand, [this] {
    auto facts = facts_.ReadAll();
    deps_.loop.Post([this, facts = std::move(facts)] { OnFactsRead(facts); });
  });
}

daemon::Health GcService::GetHealth() const {
  if (!facts_problem_.empty()) return {false, "read facts: " + facts_problem_};
  if (!runtime_problem_.empty()) return {false, runtime_problem_};
  return {listed_, listed_ ? "" : "the runtime has not been listed yet"};
}

Report GcService::GetReport() const {
  Report report = last_removal_;
  report.at = std::max(report.at, last_images_.at);
  report.items.insert(report.items.end(), last_images_.items.begin(), last_images_.items.end());
  report.kept.insert(report.kept.end(), last_images_.kept.begin(), last_images_.kept.end());
  if (report.error.empty()) report.error = last_images_.error;
  return report;
}

void GcService::Enqueue(std::function<void()> job) {
  jobs_.push_back(std::move(job));
  if (!std::exchange(busy_, true)) NextJob();
}

void GcService::NextJob() {
  busy_ = !jobs_.empty();
  if (!busy_) return;
  const auto job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
}

/// A pod that crashes again and again, or was evicted, does not wait for the minute.
void GcService::RunSoon() {
  if (std::exchange(soon_, true)) return;
  deps_.loop.RunAfter(kSoon, [this] {
    soon_ = false;
    OnRemovalTimer();
  });
}

void GcService::Run(bool dry_run, Done done) {
  CHECK(deps_.loop.IsCurrent());
  if (jobs_.size() >= kMaxJobs)
    return done(ResourceExhausted("{} rounds wait already", jobs_.size()));
  Enqueue([this, dry_run, done = std::move(done)] {
    StartRemoval(dry_run, [this, dry_run, done](const Report& removal) {
      StartImages(dry_run, [this, removal, done](const Report& images) {
        Report report = removal;
        report.items.insert(report.items.end(), images.items.begin(), images.items.end());
        report.kept.insert(report.kept.end(), images.kept.begin(), images.kept.end());
        if (report.error.empty()) report.error = images.error;
        done(report);
        NextJob();
      });
    });
  });
}

void GcService::OnRemovalTimer() {
  // What waits will do it.
  if (jobs_.size() >= kMaxJobs) return;
  Enqueue([this] { StartRemoval(false, [this](const Report&) { NextJob(); }); });
}

void GcService::StartRemoval(bool dry_run, Finish finish) {
  deps_.strands.Run("gc", [this, dry_run, finish = std::move(finish)] {
    auto inventory = ReadInventory(deps_.files, deps_.reader, deps_.clock, config_);
    deps_.loop.Post([this, dry_run, finish, inventory = std::move(inventory)] {
      OnInventory(inventory, dry_run, finish);
    });
  });
}

Fate GcService::FateOfPod(const std::string& uid, const PodTraces& traces) const {
  const std::string key = bus::KeyOf(uid);
  const auto desired = deps_.desired.Find(key);
  const auto worker = deps_.workers.Find(key);
  // One without a state is no worker: it tells config-source the number of a life.
  // Without that either, its files cannot be read.
  const bool only_found = worker != nullptr && worker->incarnation() != 0 &&
                          worker->state() == v1::WORKER_STATE_UNSPECIFIED;
  // Of a pod without a source, every one could be the one that wants it.
  const std::string_view scope = traces.source.empty() ? bus::kAll : traces.source;
  return ComputeFate(
      {.desired = {deps_.desired.Contains(key), desired.get()},
       .worker = {deps_.workers.Contains(key) && !only_found, worker.get()},
       .views_complete = deps_.desired.LiveAndComplete(scope) && deps_.workers.LiveAndComplete(),
       .ours = traces.ours,
       .kill_foreign_pods = config_.kill_foreign_pods});
}

/// The views are read after the listing: what was made in between is in them, or is not in the
/// listing.
void GcService::OnInventory(const StatusOr<Inventory>& inventory, bool dry_run,
                            const Finish& finish) {
  CHECK(deps_.loop.IsCurrent());
  if (!inventory.ok()) {
    Report report;
    report.dry_run = dry_run;
    report.at = deps_.clock.WallNow();
    report.error = ToString(inventory.status());
    NodeEvent(true, "ContainerGCFailed", report.error);
    runtime_problem_ = report.error;
    OnRemoved(report);
    return finish(report);
  }
  listed_ = true;
  runtime_problem_.clear();
  RemovalPlan plan = ComputeRemovals(
      *inventory,
      [this](const std::string& uid, const PodTraces& traces) { return FateOfPod(uid, traces); },
      config_, deps_.clock.WallNow());
  for (const auto& problem : inventory->problems) plan.kept.push_back(problem);
  metrics_.foreign_pods.Set(static_cast<double>(plan.foreign_pods));
  const Clock::Time began = deps_.clock.Now();
  deps_.strands.Run(
      "gc", [this, dry_run, finish, began, plan = std::move(plan), listed = *inventory] {
        Remover remover({deps_.clock, deps_.files, deps_.reader, deps_.remover, deps_.stop_sandbox,
                         *deps_.workers_client, *deps_.desired_client},
                        config_);
        Report report = dry_run ? remover.Describe(plan) : remover.Run(plan, listed);
        deps_.loop.Post([this, finish, began, report = std::move(report)] {
          metrics_.round.Add({{"round", "removal"}}, kRoundBuckets)
              .Observe(Seconds(deps_.clock.Now() - began));
          OnRemoved(report);
          finish(report);
        });
      });
}

void GcService::OnRemoved(const Report& report) {
  if (report.dry_run) return;
  Count(report);
  if (!report.error.empty() && report.error != last_removal_.error)
    deps_.log.Warn("container garbage collection ended early", {KV("err", report.error)});
  last_removal_ = report;
}

std::vector<LogField> GcService::FieldsOf(const ReportItem& item) const {
  const auto trace = traces_.find(bus::KeyOf(item.uid));
  std::vector<LogField> fields{KV("kind", item.kind), KV("name", item.name),
                               KV("reason", item.reason), KV("podUID", item.uid)};
  if (trace != traces_.end()) fields.push_back(KV(kTraceIdField, TraceIdOf(trace->second)));
  if (!item.error.empty()) fields.push_back(KV("err", item.error));
  return fields;
}

void GcService::Count(const Report& report) {
  if (!report.error.empty()) metrics_.errors.Add({{"kind", "round"}}).Increment();
  for (const auto& item : report.items) {
    if (!item.error.empty()) {
      metrics_.errors.Add({{"kind", item.kind}}).Increment();
      deps_.log.Warn("garbage could not be removed", FieldsOf(item));
      continue;
    }
    if (item.kind == "image") {
      metrics_.images.Add({{"reason", item.reason}}).Increment();
    } else {
      metrics_.removed.Add({{"kind", item.kind}}).Increment();
    }
    deps_.log.Info("garbage removed", FieldsOf(item));
  }
}

void GcService::OnImageTimer() {
  if (jobs_.size() >= kMaxJobs) return;
  Enqueue([this] { StartImages(false, [this](const Report&) { NextJob(); }); });
}

void GcService::StartImages(bool dry_run, Finish finish) {
  if (config_.image_high_percent == 100 && config_.image_max_age == Duration{0}) return finish({});
  deps_.strands.Run("gc", [this, dry_run, finish = std::move(finish)] {
    auto listing =
        ListImages({deps_.clock, deps_.files, deps_.reader, deps_.images, deps_.remover}, config_);
    deps_.loop.Post([this, dry_run, finish, listing = std::move(listing)] {
      OnImagesListed(listing, dry_run, finish);
    });
  });
}

bool GcService::AddWantedImages(std::set<std::string>& names) const {
  bool readable = true;
  deps_.desired.ForEach(
      [&](const std::string&, const std::shared_ptr<const v1::DesiredRecord>& record) {
        Pod pod;
        if (record == nullptr || !pod.ParseFromString(record->pod())) {
          readable = false;
          return;
        }
        const auto& spec = pod.spec();
        for (const auto& container : spec.init_containers())
          names.insert(kube::NormalImageName(container.image()));
        for (const auto& container : spec.containers())
          names.insert(kube::NormalImageName(container.image()));
      });
  return readable;
}

void GcService::OnImagesListed(const StatusOr<ImageListing>& listing, bool dry_run,
                               const Finish& finish) {
  CHECK(deps_.loop.IsCurrent());
  Report report;
  report.dry_run = dry_run;
  report.at = deps_.clock.WallNow();
  const auto end = [&] {
    OnImagesRemoved(report);
    finish(report);
  };
  if (!listing.ok()) {
    report.error = ToString(listing.status());
    return end();
  }
  ImageListing seen = *listing;
  const bool readable = AddWantedImages(seen.look.wanted);
  images_.Observe(seen.look, deps_.clock.Now());
  if (seen.fs.capacity_bytes == 0) {
    report.error = "invalid capacity 0 on image filesystem";
    NodeEvent(true, "InvalidDiskCapacity", report.error);
    return end();
  }
  const std::string stay = WhyImagesStay(seen, readable);
  if (std::exchange(images_problem_, stay) != stay && !stay.empty())
    deps_.log.Warn("images are not removed", {KV("reason", stay)});
  if (!stay.empty()) {
    report.kept.push_back("images: " + stay);
    return end();
  }
  const Clock::Time now = deps_.clock.Now();
  ImagePlan plan{images_.TooOld(config_, now), images_.Removable(config_, now),
                 BytesToFree(seen.fs, config_), seen.fs, dry_run};
  NextImage(std::make_shared<ImageRun>(
      ImageRun{ImageRound(std::move(plan), deps_.clock.WallNow()), now, finish}));
}

/// A source that is away has told of its pods before, and what they run holds its images; only a
/// pod that has not run yet may have to wait for its image again. One that is not read yet is
/// something else: it is given time.
std::string GcService::WhyImagesStay(const ImageListing& seen, bool readable) const {
  if (!readable) return "the record of a pod cannot be read";
  if (!deps_.desired.live()) return "the wanted pods are not known";
  const bool given_up = !deps_.desired.completeness().scopes.empty() && incomplete_since_ &&
                        deps_.clock.Now() - incomplete_since_ >= kSourcePatience;
  if (!deps_.desired.IsComplete() && !given_up) return "the wanted pods are not all known";
  if (!seen.sandbox_image_known)
    return "the runtime does not say which one its sandboxes are made of; "
           "splitlet.sandboxImage may";
  return "";
}

/// The views are looked at before each removal: a pod may have come since the last one.
void GcService::NextImage(const std::shared_ptr<ImageRun>& run) {
  CHECK(deps_.loop.IsCurrent());
  std::set<std::string> wanted;
  const bool known = AddWantedImages(wanted) && deps_.desired.live();
  while (auto image = run->round.Next()) {
    if (!known) {
      run->round.Keep("images: the wanted pods are not known any more");
      break;
    }
    if (Meet(image->names, wanted)) {
      run->round.Keep(fmt::format("image {}: a pod wants it by now", image->id));
      continue;
    }
    if (run->round.dry_run()) {
      run->round.Note(*image, OkStatus());
      continue;
    }
    deps_.strands.Run("gc", [this, run, image = *std::move(image)] {
      const auto removed = RemoveImage(
          {deps_.clock, deps_.files, deps_.reader, deps_.images, deps_.remover}, image, config_);
      deps_.loop.Post([this, run, image, removed] {
        if (removed.ok() && !*removed) {
          run->round.Keep(fmt::format("image {}: a container uses it by now", image.id));
        } else {
          run->round.Note(image, removed.status());
        }
        NextImage(run);
      });
    });
    return;
  }
  EndImages(*run);
}

void GcService::EndImages(ImageRun& run) {
  metrics_.round.Add({{"round", "images"}}, kRoundBuckets)
      .Observe(Seconds(deps_.clock.Now() - run.began));
  const bool insufficient = run.round.insufficient();
  const Report done = run.round.Finish();
  if (!done.dry_run && insufficient) NodeEvent(true, "FreeDiskSpaceFailed", done.error);
  OnImagesRemoved(done);
  run.finish(done);
}

void GcService::OnImagesRemoved(const Report& report) {
  if (report.dry_run) return;
  Count(report);
  for (const auto& item : report.items) {
    if (item.removed) images_.Forget(item.name);
  }
  last_images_ = report;
  if (report.error.empty()) {
    image_failures_ = 0;
    return;
  }
  // Once may be a start at which the runtime's statistics are not there yet.
  if (++image_failures_ == 1) {
    deps_.log.Warn("image garbage collection failed once", {KV("err", report.error)});
  } else {
    NodeEvent(true, "ImageGCFailed", report.error);
  }
}

void GcService::OnRuntimeChange(const v1::RuntimeRecord& record) {
  if (config_.max_per_container < 0) return;
  std::map<std::string, int> dead;
  for (const auto& container : record.pod().containers()) {
    if (container.state() != v1::ContainerRecord::EXITED) continue;
    if (++dead[container.name()] > std::max(1, config_.max_per_container)) return RunSoon();
  }
}

void GcService::OnFactsRead(const StatusOr<fs::FactStore::All>& facts) {
  if (!facts.ok()) {
    const std::string before = std::exchange(facts_problem_, Message(facts.status()));
    if (before != facts_problem_)
      deps_.log.Error("what is remembered of this boot cannot be read",
                      {KV("err", facts.status())});
    deps_.loop.RunAfter(kFactsRetry, [this] { ReadFacts(); });
    return;
  }
  facts_problem_.clear();
  facts_read_ = true;
  for (const auto& bad : facts->unreadable)
    deps_.log.Error("a file of this boot cannot be used; its times begin anew",
                    {KV("file", bad.key), KV("err", bad.reason)});
  for (const auto& fact : facts->facts) {
    if (fact.key == kThresholdsFact) last_met_ = DecodeLastMet(fact.bytes, deps_.clock.Now().boot);
  }
  told_conditions_ = Conditions(last_met_, deps_.clock.Now(), config_.pressure_transition);
  pressure_timer_.Kick();
}

void GcService::OnPressureTimer() {
  // A runtime that does not answer holds the strand up; one look at a time is enough.
  if (!facts_read_ || deps_.strands.Pending(kPressureStrand) > 0) return;
  deps_.strands.Run(kPressureStrand, [this] {
    auto signals = ReadSignals({deps_.files, deps_.images, deps_.clock}, config_);
    const bool full = DiskIsFull(deps_.files, config_.pod_logs_dir);
    deps_.loop.Post([this, full, signals = std::move(signals)] {
      OnSignals(signals);
      if (full) EmptyLogsOfRemoved();
    });
  });
}

void GcService::OnSignals(const std::vector<PressureSignal>& signals) {
  CHECK(deps_.loop.IsCurrent());
  const Clock::Time now = deps_.clock.Now();
  const LastMet before = last_met_;
  Remember(last_met_, MetThresholds(signals, config_.eviction_hard), now,
           config_.pressure_transition);
  const auto conditions = Conditions(last_met_, now, config_.pressure_transition);
  if (before == last_met_) {
    PutPressure(signals, conditions);
  } else {
    deps_.strands.Run(kPressureStrand,
                      [this, signals, conditions, text = EncodeLastMet(last_met_)] {
                        const Status saved = facts_.Save(std::string(kThresholdsFact), text, false);
                        deps_.loop.Post([this, signals, conditions, saved] {
                          deps_.log.LogIfError(saved, "save thresholds");
                          PutPressure(signals, conditions);
                        });
                      });
  }
  LogConditions(conditions);
}

/// What a pod that no source wants any more has logged may keep it from being ended, when it has
/// filled the disk: pod-worker or the runtime cannot write what they must. REMOVED is a one-way
/// fact, so that any view will do.
void GcService::EmptyLogsOfRemoved() {
  if (deps_.strands.Pending(kEmptyStrand) > 0) return;
  std::vector<RemovedPod> pods;
  deps_.desired.ForEach([&](const std::string& key,
                            const std::shared_ptr<const v1::DesiredRecord>& record) {
    if (record == nullptr || record->state() != v1::DesiredRecord::REMOVED) return;
    const auto worker = deps_.workers.Find(key);
    if (worker == nullptr) return;
    const auto runtime = deps_.runtime.Find(key);
    const bool running =
        runtime != nullptr && std::ranges::any_of(runtime->pod().containers(), [](const auto& c) {
          return c.state() == v1::ContainerRecord::RUNNING;
        });
    // The runtime may say running because it cannot write that it is not.
    if (!running || IsOverdue(*worker, deps_.clock.Now()))
      pods.push_back(
          {record->uid(), LogDirectoryOf(record->namespace_(), record->name(), record->uid())});
  });
  if (pods.empty()) return;
  deps_.strands.Run(kEmptyStrand, [this, pods = std::move(pods)] {
    const auto emptied = EmptyLogs(deps_.files, pods, config_);
    deps_.loop.Post([this, emptied] {
      for (const auto& item : emptied) {
        if (item.error.empty()) {
          metrics_.removed.Add({{"kind", item.kind}}).Increment();
          deps_.log.Info("log of a removed pod emptied: the disk is full", FieldsOf(item));
        } else {
          metrics_.errors.Add({{"kind", item.kind}}).Increment();
          deps_.log.Warn("garbage could not be removed", FieldsOf(item));
        }
      }
    });
  });
}

void GcService::PutPressure(const std::vector<PressureSignal>& signals,
                            const std::vector<std::string>& conditions) {
  const Clock::Time now = deps_.clock.Now();
  v1::PressureRecord record;
  for (const auto& signal : signals) {
    auto& out = *record.add_signals();
    out.set_name(signal.name);
    out.set_value(signal.available);
    out.set_capacity(signal.capacity);
    metrics_.signal.Add({{"signal", signal.name}}).Set(static_cast<double>(signal.available));
  }
  for (const auto& condition : conditions) record.add_conditions(condition);
  for (const char* const condition : kConditions)
    metrics_.condition.Add({{"condition", condition}}).Set(Contains(conditions, condition) ? 1 : 0);
  record.mutable_observed_at()->set_boot(now.boot);
  record.mutable_observed_at()->set_monotonic_ns(now.monotonic.count());
  deps_.log.LogIfError(deps_.pressure.Put(bus::kNodeKey, record), "put pressure");
  bus::Completeness complete;
  complete.scopes.insert(std::string(bus::kAll));
  deps_.pressure.SetComplete(complete);
}

void GcService::LogConditions(const std::vector<std::string>& conditions) {
  for (const char* const condition : kConditions) {
    const bool now = Contains(conditions, condition);
    if (now != Contains(told_conditions_, condition))
      deps_.log.Info("node condition changed", {KV("condition", condition), KV("status", now)});
  }
  told_conditions_ = conditions;
}

void GcService::NodeEvent(bool warning, std::string reason, std::string message) {
  daemon::PodEvent event;
  event.about_node = true;
  event.warning = warning;
  event.reason = std::move(reason);
  event.message = std::move(message);
  event.name = event.uid = config_.node_name;
  deps_.events.Record(std::move(event));
}

}  // namespace splitlet::gc
