#include "services/gc/collect/logs/log_truncation.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kStrand = "empty-logs";

/// The grace period of the pod is over, so its containers were killed.
bool IsOverdue(const v1::WorkerRecord& worker, Clock::Time now) {
  const auto& deadline = worker.deadline();
  return worker.state() == v1::TERMINATING && deadline.boot() == now.boot &&
         now.monotonic.count() > deadline.monotonic_ns();
}

}  // namespace

void LogTruncation::OnFullDisk() {
  if (deps_.env.strands.Pending(kStrand) > 0) return;
  std::vector<RemovedPod> pods = EndedPods();
  if (pods.empty()) return;
  asker_.Ask(
      kStrand,
      [&files = deps_.files, pods = std::move(pods), &config = config_] {
        return TruncateLogs(files, pods, config);
      },
      [this](const std::vector<ReportItem>& emptied) {
        deps_.removal_log.RecordTruncated(emptied);
      });
}

/// Without a readable record: true only when pleg has listed everything and shows no such pod.
bool LogTruncation::HasStopped(const std::string& key) const {
  if (!deps_.runtime.Contains(key)) return deps_.runtime.LiveAndComplete();
  const auto runtime = deps_.runtime.Find(key);
  return runtime != nullptr &&
         std::ranges::none_of(runtime->pod().containers(), [](const auto& container) {
           return container.state() == v1::ContainerRecord::RUNNING;
         });
}

std::vector<RemovedPod> LogTruncation::EndedPods() const {
  std::vector<RemovedPod> pods;
  deps_.desired.ForEach(
      [&](const std::string& key, const std::shared_ptr<const v1::DesiredRecord>& record) {
        if (record == nullptr || record->state() != v1::DesiredRecord::REMOVED) return;
        const auto worker = deps_.workers.Find(key);
        if (worker == nullptr) return;
        // The runtime may report a dead container as running because it cannot write its end to the
        // disk.
        if (HasStopped(key) || IsOverdue(*worker, deps_.env.clock.Now()))
          pods.push_back(
              {record->uid(), LogDirectoryOf(record->namespace_(), record->name(), record->uid())});
      });
  return pods;
}

}  // namespace splitlet::gc
