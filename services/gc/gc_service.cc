#include "services/gc/gc_service.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kSoon = std::chrono::seconds{10};

/// Both in one, of a round or of the last ones.
Report Joined(Report report, const Report& images) {
  report.items.insert(report.items.end(), images.items.begin(), images.items.end());
  report.kept.insert(report.kept.end(), images.kept.begin(), images.kept.end());
  if (report.error.empty()) report.error = images.error;
  return report;
}

}  // namespace

GcService::GcService(GcDeps deps, GcConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics),
      node_events_(deps_.events, config_.node_name),
      removal_log_(deps_.log, metrics_),
      containers_({.clock = deps_.clock,
                   .loop = deps_.loop,
                   .strands = deps_.strands,
                   .remover = {deps_.clock, deps_.files, deps_.reader, deps_.remover,
                               deps_.stop_sandbox, deps_.stop_container, deps_.events,
                               *deps_.workers_client, *deps_.desired_client},
                   .desired = deps_.desired,
                   .workers = deps_.workers,
                   .node_events = node_events_,
                   .removal_log = removal_log_,
                   .metrics = metrics_,
                   .log = deps_.log},
                  config_),
      images_({.loop = deps_.loop,
               .strands = deps_.strands,
               .images = {deps_.clock, deps_.files, deps_.reader, deps_.images, deps_.remover},
               .desired = deps_.desired,
               .workers = deps_.workers,
               .node_events = node_events_,
               .removal_log = removal_log_,
               .metrics = metrics_,
               .log = deps_.log},
              config_),
      logs_({.clock = deps_.clock,
             .loop = deps_.loop,
             .strands = deps_.strands,
             .rotator = {deps_.clock, deps_.files, deps_.logs, deps_.compress},
             .log = deps_.log,
             .metrics = metrics_,
             .is_ours = [this](const std::string& key) { return deps_.workers.Contains(key); }},
            config_),
      log_truncation_({.clock = deps_.clock,
                       .loop = deps_.loop,
                       .strands = deps_.strands,
                       .files = deps_.files,
                       .desired = deps_.desired,
                       .workers = deps_.workers,
                       .runtime = deps_.runtime,
                       .removal_log = removal_log_},
                      config_),
      removal_timer_(deps_.loop, kRemovalPeriod, [this] { OnRemovalTimer(); }),
      image_timer_(deps_.loop, kImagePeriod, [this] { OnImageTimer(); }),
      pressure_({.clock = deps_.clock,
                 .loop = deps_.loop,
                 .strands = deps_.strands,
                 .files = deps_.files,
                 .images = deps_.images,
                 .meter = *deps_.meter,
                 .memory_alarm = std::move(deps_.memory_alarm),
                 .table = deps_.pressure,
                 .metrics = metrics_,
                 .log = deps_.log,
                 .on_full_disk = [this] { log_truncation_.OnFullDisk(); },
                 .on_pass = [this](const Pass& pass) { evictor_.OnPass(pass); }},
                config_),
      evictor_({.clock = deps_.clock,
                .loop = deps_.loop,
                .strands = deps_.strands,
                .files = deps_.files,
                .usage = {deps_.clock, deps_.files, deps_.reader, deps_.stats, *deps_.meter},
                .images = deps_.images,
                .pod_worker = *deps_.kills,
                .desired = deps_.desired,
                .workers = deps_.workers,
                .events = deps_.events,
                .node_events = node_events_,
                .metrics = metrics_,
                .log = deps_.log,
                .reclaim = [this](NodeReclaim what,
                                  std::function<void()> done) { MakeRoom(what, std::move(done)); },
                .look_again = [this] { pressure_.LookAgain(); }},
               config_),
      shutdown_({.clock = deps_.clock,
                 .loop = deps_.loop,
                 .strands = deps_.strands,
                 .files = deps_.files,
                 .source = *deps_.shutdown,
                 .pod_worker = *deps_.kills,
                 .desired = deps_.desired,
                 .workers = deps_.workers,
                 .node_events = node_events_,
                 .metrics = metrics_,
                 .log = deps_.log,
                 .on_change = [this](bool down) { pressure_.SetShuttingDown(down); },
                 .on_read = [this] { pressure_.Start(); }},
                config_),
      oom_({.loop = deps_.loop,
            .strands = deps_.strands,
            .kernel_log = *deps_.kernel_log,
            .node_events = node_events_,
            .log = deps_.log}),
      volumes_({.clock = deps_.clock,
                .loop = deps_.loop,
                .strands = deps_.strands,
                .sources = {deps_.clock, deps_.files, deps_.reader, *deps_.meter},
                .desired = deps_.desired,
                .runtime = deps_.runtime,
                .metrics = deps_.metrics,
                .period = deps_.volume_stats_period},
               config_),
      stats_({.loop = deps_.loop,
              .strands = deps_.strands,
              .sources = {.clock = deps_.clock,
                          .files = deps_.files,
                          .images = deps_.images,
                          .stats = deps_.stats,
                          .meter = *deps_.meter,
                          .runtime_pid = deps_.runtime_pid,
                          .root_dir = config_.root_dir,
                          .pods_dir = config_.pods_dir,
                          .pod_logs_dir = config_.pod_logs_dir},
              .runtime = deps_.runtime,
              .volumes = volumes_}) {
  deps_.runtime.OnChange([this](const bus::View<v1::RuntimeRecord>::Change& change) {
    logs_.OnRuntimeChange(change.key, change.after.get());
    if (change.after != nullptr) OnRuntimeChange(*change.after);
  });
  deps_.workers.OnChange([this](const bus::View<v1::WorkerRecord>::Change& change) {
    removal_log_.OnWorker(change);
    if (change.after != nullptr && change.after->evicted()) RunSoon();
    evictor_.OnWorkers();
    shutdown_.OnPods();
  });
  deps_.desired.OnChange([this](const bus::View<v1::DesiredRecord>::Change& change) {
    evictor_.OnDesired(change);
    shutdown_.OnPods();
  });
  deps_.desired.OnState([this] {
    images_.OnDesiredState();
    shutdown_.OnPods();
  });
  deps_.workers.OnState([this] { shutdown_.OnPods(); });
  images_.OnDesiredState();
}

void GcService::Start() {
  removal_timer_.Kick();
  image_timer_.Kick();
  shutdown_.Start();
  evictor_.Start();
  oom_.Start();
  volumes_.Start();
}

daemon::Health GcService::GetHealth() const {
  std::string problem = pressure_.problem();
  if (problem.empty()) problem = containers_.RuntimeProblem();
  return {problem.empty(), problem};
}

Report GcService::GetReport() const {
  Report report = Joined(containers_.last(), images_.last());
  report.at = std::max(report.at, images_.last().at);
  return report;
}

void GcService::Run(bool dry_run, Done done) {
  CHECK(deps_.loop.IsCurrent());
  if (rounds_.full()) return done(ResourceExhausted("{} rounds wait already", rounds_.waiting()));
  rounds_.Add([this, dry_run, done = std::move(done)] {
    containers_.Collect({.dry_run = dry_run}, [this, dry_run, done](const Report& remains) {
      images_.Collect({.dry_run = dry_run}, [this, remains, done](const Report& images) {
        done(Joined(remains, images));
        rounds_.Next();
      });
    });
  });
}

void GcService::OnRemovalTimer() {
  if (rounds_.full()) return;  // a queued round will cover this one
  rounds_.Add([this] { containers_.Collect({}, [this](const Report&) { rounds_.Next(); }); });
}

void GcService::OnImageTimer() {
  if (rounds_.full()) return;
  rounds_.Add([this] { images_.Collect({}, [this](const Report&) { rounds_.Next(); }); });
}

void GcService::MakeRoom(NodeReclaim what, std::function<void()> done) {
  if (rounds_.full()) return deps_.loop.Post(std::move(done));  // those that wait free most of it
  rounds_.Add([this, what, done = std::move(done)] {
    const auto end = [this, done](const Report&) {
      rounds_.Next();
      done();
    };
    const auto images = [this, what, end](const Report&) {
      what.images ? images_.Collect({.all_unused = true}, end) : end({});
    };
    what.containers ? containers_.Collect({.short_of_room = true}, images) : images({});
  });
}

/// A pod that crashes again and again, or was evicted, does not wait for the minute.
void GcService::RunSoon() {
  if (std::exchange(soon_, true)) return;
  deps_.loop.RunAfter(kSoon, [this] {
    soon_ = false;
    OnRemovalTimer();
  });
}

void GcService::OnRuntimeChange(const v1::RuntimeRecord& record) {
  if (config_.max_per_container < 0) return;
  std::map<std::string, int> dead;
  for (const auto& container : record.pod().containers()) {
    if (container.state() != v1::ContainerRecord::EXITED) continue;
    if (++dead[container.name()] > std::max(1, config_.max_per_container)) return RunSoon();
  }
}

}  // namespace splitlet::gc
