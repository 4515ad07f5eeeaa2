#include "services/gc/gc_service.h"

#include <string>
#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {

GcService::GcService(GcDeps deps, GcConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.env.metrics),
      node_events_(deps_.events, config_.node_name),
      collector_(CollectorDeps(), config_),
      protector_(ProtectorDeps(), config_),
      volumes_({.env = deps_.env,
                .sources = {.clock = deps_.env.clock,
                            .files = deps_.files,
                            .reader = deps_.calls.reader,
                            .meter = *deps_.meter},
                .desired = deps_.desired,
                .runtime = deps_.runtime},
               config_),
      stats_(StatsDeps()) {
  Subscribe();
}

GarbageCollector::Deps GcService::CollectorDeps() {
  return {.env = deps_.env,
          .files = deps_.files,
          .reader = deps_.calls.reader,
          .remover = deps_.calls.remover,
          .images = deps_.calls.images,
          .logs = deps_.calls.logs,
          .compress = deps_.compress,
          .stop_sandbox = deps_.calls.stop_sandbox,
          .stop_container = deps_.calls.stop_container,
          .pod_worker = *deps_.workers_client,
          .config_source = *deps_.desired_client,
          .desired = deps_.desired,
          .workers = deps_.workers,
          .runtime = deps_.runtime,
          .events = deps_.events,
          .node_events = node_events_,
          .metrics = metrics_};
}

NodeProtector::Deps GcService::ProtectorDeps() {
  return {.env = deps_.env,
          .files = deps_.files,
          .reader = deps_.calls.reader,
          .images = deps_.calls.images,
          .stats = deps_.calls.stats,
          .meter = *deps_.meter,
          .kernel_log = *deps_.kernel_log,
          .shutdown = *deps_.shutdown,
          .memory_alarm = std::move(deps_.memory_alarm),
          .pod_worker = *deps_.kills,
          .pressure = deps_.pressure,
          .desired = deps_.desired,
          .workers = deps_.workers,
          .events = deps_.events,
          .node_events = node_events_,
          .metrics = metrics_,
          .reclaim =
              [this](NodeReclaim what, std::function<void()> done) {
                collector_.Free({.containers = what.containers, .images = what.images},
                                std::move(done));
              },
          .on_full_disk = [this] { collector_.OnFullDisk(); }};
}

StatsReader::Deps GcService::StatsDeps() {
  return {.loop = deps_.env.loop,
          .strands = deps_.env.strands,
          .sources = {.clock = deps_.env.clock,
                      .files = deps_.files,
                      .images = deps_.calls.images,
                      .stats = deps_.calls.stats,
                      .meter = *deps_.meter,
                      .runtime_pid = deps_.calls.pid,
                      .root_dir = config_.root_dir,
                      .pods_dir = config_.pods_dir,
                      .pod_logs_dir = config_.pod_logs_dir},
          .runtime = deps_.runtime,
          .volumes = volumes_};
}

void GcService::Subscribe() {
  deps_.runtime.OnChange(
      [this](const bus::View<v1::RuntimeRecord>::Change& change) { collector_.OnRuntime(change); });
  deps_.workers.OnChange([this](const bus::View<v1::WorkerRecord>::Change& change) {
    collector_.OnWorker(change);
    protector_.OnWorkers();
  });
  deps_.desired.OnChange(
      [this](const bus::View<v1::DesiredRecord>::Change& change) { protector_.OnDesired(change); });
  deps_.desired.OnState([this] {
    collector_.OnDesiredState();
    protector_.OnViewState();
  });
  deps_.workers.OnState([this] { protector_.OnViewState(); });
}

void GcService::Start() {
  collector_.Start();
  protector_.Start();
  volumes_.Start();
}

daemon::Health GcService::GetHealth() const {
  std::string problem = protector_.problem();
  if (problem.empty()) problem = collector_.RuntimeProblem();
  return {problem.empty(), problem};
}

}  // namespace splitlet::gc
