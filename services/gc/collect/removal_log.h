#pragma once

/// Says what gc has removed and what it could not: log lines with the trace of the pod, and
/// counters.
/// In:    changes of `workers`, from GcService; reports of rounds.
/// Owns:  the trace of the last change of each pod that has a worker.
/// Out:   log, metrics.
/// Killed at any line: traces are lost; what is removed next is logged without.
/// Threads: loop thread only.
/// Errors: none.

#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "services/gc/collect/report.h"
#include "services/gc/metrics.h"

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::gc {

class RemovalLog {
 public:
  RemovalLog(const Log& log, GcMetrics& metrics) : log_(log), metrics_(metrics) {}

  void OnWorker(const bus::View<v1::WorkerRecord>::Change& change);
  /// What a round did: a line for the round and one for each image; the rest at debug level.
  void Record(const Report& report);
  /// Logs that were emptied because the disk is full.
  void RecordTruncated(const std::vector<ReportItem>& items);

 private:
  void RecordFailure(const ReportItem& item);
  /// Its pod, and the trace of that pod's last change.
  std::vector<LogField> FieldsOf(const ReportItem& item) const;

  const Log& log_;
  GcMetrics& metrics_;
  std::map<std::string, std::string> traces_;  // by key of the pod
};

}  // namespace splitlet::gc
