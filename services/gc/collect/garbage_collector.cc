#include "services/gc/collect/garbage_collector.h"

#include <algorithm>
#include <map>
#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kSoon = std::chrono::seconds{10};

Report Joined(Report report, const Report& images) {
  report.items.insert(report.items.end(), images.items.begin(), images.items.end());
  report.kept.insert(report.kept.end(), images.kept.begin(), images.kept.end());
  if (report.error.empty()) report.error = images.error;
  return report;
}

}  // namespace

GarbageCollector::GarbageCollector(const Deps& deps, const GcConfig& config)
    : loop_(deps.env.loop),
      workers_(deps.workers),
      config_(config),
      removal_log_(deps.env.log, deps.metrics),
      containers_({.env = deps.env,
                   .remover = {.clock = deps.env.clock,
                               .files = deps.files,
                               .reader = deps.reader,
                               .remover = deps.remover,
                               .stop_sandbox = deps.stop_sandbox,
                               .stop_container = deps.stop_container,
                               .events = deps.events,
                               .workers = deps.pod_worker,
                               .desired = deps.config_source},
                   .desired = deps.desired,
                   .workers = deps.workers,
                   .node_events = deps.node_events,
                   .removal_log = removal_log_,
                   .metrics = deps.metrics},
                  config_),
      images_({.env = deps.env,
               .images = {.clock = deps.env.clock,
                          .files = deps.files,
                          .reader = deps.reader,
                          .images = deps.images,
                          .remover = deps.remover},
               .desired = deps.desired,
               .workers = deps.workers,
               .node_events = deps.node_events,
               .removal_log = removal_log_,
               .metrics = deps.metrics},
              config_),
      logs_({.env = deps.env,
             .rotator = {deps.env.clock, deps.files, deps.logs, deps.compress},
             .metrics = deps.metrics,
             .is_ours = [this](const std::string& key) { return workers_.Contains(key); }},
            config_),
      log_truncation_({.env = deps.env,
                       .files = deps.files,
                       .desired = deps.desired,
                       .workers = deps.workers,
                       .runtime = deps.runtime,
                       .removal_log = removal_log_},
                      config_),
      removal_timer_(deps.env.loop, kRemovalPeriod, [this] { OnRemovalTimer(); }),
      image_timer_(deps.env.loop, kImagePeriod, [this] { OnImageTimer(); }),
      asker_(deps.env.loop, deps.env.strands) {
  images_.OnDesiredState();
}

void GarbageCollector::Start() {
  removal_timer_.Kick();
  image_timer_.Kick();
}

void GarbageCollector::OnRuntime(const bus::View<v1::RuntimeRecord>::Change& change) {
  logs_.OnRuntimeChange(change.key, change.after.get());
  if (change.after != nullptr) RunIfCrashLoop(*change.after);
}

void GarbageCollector::OnWorker(const bus::View<v1::WorkerRecord>::Change& change) {
  removal_log_.OnWorker(change);
  if (change.after != nullptr && change.after->evicted()) RunSoon();
}

void GarbageCollector::Run(bool dry_run, Done done) {
  CHECK(loop_.IsCurrent());
  if (rounds_.full())
    return done(ResourceExhausted("{} rounds are waiting already; try again in a minute",
                                  rounds_.waiting()));
  rounds_.Add([this, dry_run, done = std::move(done)] {
    containers_.Collect({.dry_run = dry_run}, [this, dry_run, done](const Report& containers) {
      images_.Collect({.dry_run = dry_run}, [this, containers, done](const Report& images) {
        done(Joined(containers, images));
        rounds_.Next();
      });
    });
  });
}

void GarbageCollector::Free(FreeOrder order, std::function<void()> done) {
  if (rounds_.full()) return loop_.Post(std::move(done));
  rounds_.Add([this, order, done = std::move(done)] {
    const auto end = [this, done](const Report&) {
      rounds_.Next();
      done();
    };
    const auto images = [this, order, end](const Report&) {
      order.images ? images_.Collect({.all_unused = true}, end) : end({});
    };
    order.containers ? containers_.Collect({.short_of_disk = true}, images) : images({});
  });
}

Report GarbageCollector::GetReport() const {
  Report report = Joined(containers_.last(), images_.last());
  report.at = std::max(report.at, images_.last().at);
  return report;
}

void GarbageCollector::OnRemovalTimer() {
  if (rounds_.full()) return;  // a queued round covers this one
  rounds_.Add([this] {
    containers_.Collect({}, [this](const Report& report) {
      if (report.unemptied) RunSoon();
      rounds_.Next();
    });
  });
}

void GarbageCollector::OnImageTimer() {
  if (rounds_.full()) return;
  rounds_.Add([this] { images_.Collect({}, [this](const Report&) { rounds_.Next(); }); });
}

/// A pod in a crash loop and an evicted pod leave more than the timer of a minute should let lie.
void GarbageCollector::RunSoon() {
  if (std::exchange(soon_, true)) return;
  asker_.RunAfter(kSoon, [this] {
    soon_ = false;
    OnRemovalTimer();
  });
}

void GarbageCollector::RunIfCrashLoop(const v1::RuntimeRecord& record) {
  if (config_.max_per_container < 0) return;
  std::map<std::string, int> dead;
  for (const auto& container : record.pod().containers()) {
    if (container.state() != v1::ContainerRecord::EXITED) continue;
    if (++dead[container.name()] > std::max(1, config_.max_per_container)) return RunSoon();
  }
}

}  // namespace splitlet::gc
