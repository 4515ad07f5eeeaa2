#include "services/pod-worker/pod/worker_state.h"

#include "libs/base/status.h"

namespace splitlet::pod_worker {

namespace {

bool EndsSync(WorkerEvent event) {
  return event == WorkerEvent::kEndRequested || event == WorkerEvent::kCompleted;
}

}  // namespace

WorkerState Next(WorkerState state, WorkerEvent event) {
  using enum WorkerState;
  switch (state) {
    case kSyncing: return EndsSync(event) ? kTerminating : kSyncing;
    case kTerminating: return event == WorkerEvent::kAllStopped ? kTerminated : kTerminating;
    case kTerminated: return event == WorkerEvent::kTornDown ? kFinished : kTerminated;
    case kFinished: return kFinished;
  }
  UNREACHABLE();
}

}  // namespace splitlet::pod_worker
