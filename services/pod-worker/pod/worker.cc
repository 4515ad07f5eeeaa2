#include "services/pod-worker/pod/worker.h"

#include <algorithm>

#include "libs/base/trace.h"

namespace splitlet::pod_worker {

void BackdateStart(int64_t start_wall_ns, Worker& worker) {
  const Duration age{std::max<int64_t>(worker.times.start_wall_ns - start_wall_ns, 0)};
  worker.times.start_wall_ns = start_wall_ns;
  worker.times.started_at = worker.times.started_at - age;
}

PodRef RefOf(const Worker& worker) {
  return {worker.uid, worker.name, worker.name_space, worker.traits.inits,
          worker.traits.ephemerals};
}

LogField TraceField(const Worker& worker) {
  return KV(kTraceIdField, TraceIdOf(worker.traceparent));
}

}  // namespace splitlet::pod_worker
