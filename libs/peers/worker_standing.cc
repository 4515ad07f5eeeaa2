#include "libs/peers/worker_standing.h"

#include "splitlet/v1/records.pb.h"

namespace splitlet::peers {

WorkerStanding ComputeWorkerStanding(const v1::WorkerRecord& record) {
  switch (static_cast<int>(record.state())) {  // numbers of later writers are unknown
    case v1::SYNCING: return WorkerStanding::kSyncing;
    case v1::TERMINATING: return WorkerStanding::kTerminating;
    case v1::TERMINATED: return WorkerStanding::kTerminated;
    case v1::FINISHED: return WorkerStanding::kFinished;
    case v1::WORKER_STATE_UNSPECIFIED:
      return record.incarnation() != 0 ? WorkerStanding::kFound : WorkerStanding::kUnreadable;
    default: return WorkerStanding::kUnknown;
  }
}

WorkerStanding ComputeWorkerStanding(bool present, const v1::WorkerRecord* record) {
  if (!present) return WorkerStanding::kAbsent;
  return record == nullptr ? WorkerStanding::kUnknown : ComputeWorkerStanding(*record);
}

bool IsNoWorker(WorkerStanding standing) {
  return standing == WorkerStanding::kAbsent || standing == WorkerStanding::kFound;
}

}  // namespace splitlet::peers
