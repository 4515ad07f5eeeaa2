#include "services/gc/protect/node_protector.h"

#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {

NodeProtector::NodeProtector(Deps deps, const GcConfig& config)
    : pressure_({.env = deps.env,
                 .files = deps.files,
                 .images = deps.images,
                 .meter = deps.meter,
                 .memory_alarm = std::move(deps.memory_alarm),
                 .table = deps.pressure,
                 .metrics = deps.metrics,
                 .on_full_disk = std::move(deps.on_full_disk),
                 .on_pass = [this](const Pass& pass) { evictor_.OnPass(pass); }},
                config),
      evictor_({.env = deps.env,
                .files = deps.files,
                .usage = {.clock = deps.env.clock,
                          .files = deps.files,
                          .reader = deps.reader,
                          .stats = deps.stats,
                          .meter = deps.meter},
                .images = deps.images,
                .pod_worker = deps.pod_worker,
                .desired = deps.desired,
                .workers = deps.workers,
                .events = deps.events,
                .node_events = deps.node_events,
                .metrics = deps.metrics,
                .reclaim = std::move(deps.reclaim),
                .inspect_again = [this] { pressure_.InspectAgain(); }},
               config),
      shutdown_({.env = deps.env,
                 .files = deps.files,
                 .source = deps.shutdown,
                 .pod_worker = deps.pod_worker,
                 .desired = deps.desired,
                 .workers = deps.workers,
                 .node_events = deps.node_events,
                 .metrics = deps.metrics,
                 .on_change = [this](bool down) { pressure_.SetShuttingDown(down); },
                 .on_read = [this] { pressure_.Start(); }},
                config),
      oom_({.env = deps.env,
            .kernel_log = deps.kernel_log,
            .node_events = deps.node_events,
            .metrics = deps.metrics}) {}

void NodeProtector::Start() {
  shutdown_.Start();
  evictor_.Start();
  oom_.Start();
}

void NodeProtector::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  evictor_.OnDesired(change);
  shutdown_.OnPods();
}

void NodeProtector::OnWorkers() {
  evictor_.OnWorkers();
  shutdown_.OnPods();
}

}  // namespace splitlet::gc
