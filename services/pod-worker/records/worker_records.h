#pragma once

/// A worker as it stands in its files and in the table `workers`.
/// Threads: the loop's, as the workers.
/// Errors:  none.
/// Source:  proto/splitlet/v1/pod_worker_records.proto; proto/splitlet/v1/records.proto.

#include <memory>

#include "services/pod-worker/pod/worker.h"

namespace splitlet::v1 {
class SavedPod;
class SavedWorker;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

void FillSavedWorker(const Worker& worker, v1::SavedWorker& saved);
void FillSavedPod(const Worker& worker, v1::SavedPod& saved);
void FillRecord(const Worker& worker, v1::WorkerRecord& record);
/// From this boot's file.
std::unique_ptr<Worker> FromSavedWorker(const v1::SavedWorker& saved);
/// Adds what the permanent record knows of the same incarnation.
void ApplySavedPod(const v1::SavedPod& saved, Worker& worker);

}  // namespace splitlet::pod_worker
