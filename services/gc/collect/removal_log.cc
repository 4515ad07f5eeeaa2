#include "services/gc/collect/removal_log.h"

#include <set>
#include <utility>

#include "libs/base/trace.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {

void RemovalLog::OnWorker(const bus::View<v1::WorkerRecord>::Change& change) {
  if (!change.present_after) {
    traces_.erase(change.key);
  } else if (!change.traceparent.empty()) {
    traces_[change.key] = change.traceparent;
  }
}

void RemovalLog::Record(Part part, const Report& report) {
  const Failures before = std::exchange(failures_[part], {});
  if (!report.error.empty()) metrics_.errors.Add({{"kind", "round"}}).Increment();
  std::map<std::string, int> removed;  // by kind
  std::set<std::string> pods;
  for (const auto& item : report.items) {
    if (!item.error.empty()) {
      RecordFailure(part, item, before);
      continue;
    }
    if (item.kind == "image") {
      metrics_.images.Add({{"reason", item.reason}}).Increment();
      log_.Info("image removed", FieldsOf(item));
      continue;
    }
    metrics_.removed.Add({{"kind", item.kind}}).Increment();
    log_.Debug("garbage removed", FieldsOf(item));
    ++removed[item.kind];
    if (!item.uid.empty()) pods.insert(item.uid);
  }
  if (!removed.empty())
    log_.Info("garbage collected",
              {KV("pods", pods.size()), KV("containers", removed["container"]),
               KV("sandboxes", removed["sandbox"]), KV("logDirs", removed["log-dir"]),
               KV("podDirs", removed["pod-dir"]), KV("logLinks", removed["log-link"])});
}

void RemovalLog::RecordTruncated(const std::vector<ReportItem>& items) {
  const Failures before = std::exchange(failures_[Part::kLogs], {});
  for (const auto& item : items) {
    if (!item.error.empty()) {
      RecordFailure(Part::kLogs, item, before);
      continue;
    }
    metrics_.removed.Add({{"kind", item.kind}}).Increment();
    log_.Info("disk is full: truncated the log of a removed pod", FieldsOf(item));
  }
}

void RemovalLog::RecordFailure(Part part, const ReportItem& item, const Failures& before) {
  metrics_.errors.Add({{"kind", item.kind}}).Increment();
  const std::string key = item.kind + " " + item.name;
  failures_[part][key] = item.error;
  const auto known = before.find(key);
  if (known != before.end() && known->second == item.error) return;
  log_.Warn("cannot remove garbage; the next round tries again", FieldsOf(item));
}

std::vector<LogField> RemovalLog::FieldsOf(const ReportItem& item) const {
  const auto trace = traces_.find(bus::KeyOf(item.uid));
  std::vector<LogField> fields{KV("kind", item.kind), KV("name", item.name),
                               KV("reason", item.reason), KV("podUID", item.uid)};
  if (trace != traces_.end()) fields.push_back(KV(kTraceIdField, TraceIdOf(trace->second)));
  if (!item.error.empty()) fields.push_back(KV("err", item.error));
  return fields;
}

}  // namespace splitlet::gc
