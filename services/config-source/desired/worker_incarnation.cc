#include "services/config-source/desired/worker_incarnation.h"

#include "libs/kube/pod_types.h"
#include "libs/peers/worker_standing.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

/// Such a pod does not run again when its record here is lost. API UIDs are never reused: a
/// finished worker stays finished.
bool EndedByItself(const v1::WorkerRecord& record) {
  return record.evicted() || !record.terminal_status().phase().empty() ||
         record.source() == kube::kApiSource;
}

WorkerEnd EndOf(const v1::WorkerRecord& record, std::optional<int64_t> withdrawn, uint64_t boot) {
  const auto standing = peers::ComputeWorkerStanding(record);
  if (standing == peers::WorkerStanding::kSyncing || standing == peers::WorkerStanding::kFound)
    return WorkerEnd::kNone;
  if (record.shutdown_boot() != 0 && record.shutdown_boot() != boot) return WorkerEnd::kShutdown;
  const bool removed_here = withdrawn && record.incarnation() <= *withdrawn;
  return removed_here || !EndedByItself(record) ? WorkerEnd::kRemoved : WorkerEnd::kNone;
}

}  // namespace

std::optional<WorkerIncarnation> WorkerIncarnationOf(const v1::WorkerRecord* record,
                                                     std::string_view uid,
                                                     std::optional<int64_t> withdrawn,
                                                     uint64_t boot) {
  if (record == nullptr || record->uid() != uid || record->incarnation() == 0) return std::nullopt;
  return WorkerIncarnation{.incarnation = record->incarnation(),
                           .generation = record->generation(),
                           .finished = record->state() == v1::FINISHED,
                           .end = EndOf(*record, withdrawn, boot)};
}

}  // namespace splitlet::config_source
