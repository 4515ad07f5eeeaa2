#pragma once

/// Reports what gc removed and what it could not remove, in log lines with the trace of the pod and
/// in counters.
/// In:    changes of `workers`; reports of rounds.
/// Owns:  the trace of the last change of each pod with a worker; the failures of the last rounds.
/// Out:   log, metrics.
/// Killed at any line: traces are lost; later removals are logged without a trace.
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
  /// The part of gc that removes: each has rounds of its own.
  enum class Part { kContainers, kImages, kLogs };
  RemovalLog(const Log& log, GcMetrics& metrics) : log_(log), metrics_(metrics) {}

  void OnWorker(const bus::View<v1::WorkerRecord>::Change& change);
  /// Logs a line for the round and a line for each image; the rest at debug level. A failure is
  /// logged when the round before did not have it.
  void Record(Part part, const Report& report);
  /// Logs of removed pods that were truncated because the disk is full.
  void RecordTruncated(const std::vector<ReportItem>& items);

 private:
  using Failures = std::map<std::string, std::string>;  // the error, by kind and name
  void RecordFailure(Part part, const ReportItem& item, const Failures& before);
  /// The fields of the item, and the trace of the last change of its pod.
  std::vector<LogField> FieldsOf(const ReportItem& item) const;

  const Log& log_;
  GcMetrics& metrics_;
  std::map<Part, Failures> failures_;          // of the last round
  std::map<std::string, std::string> traces_;  // by the pod's key
};

}  // namespace splitlet::gc
