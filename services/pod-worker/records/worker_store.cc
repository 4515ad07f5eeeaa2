#include "services/pod-worker/records/worker_store.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/bus/bus.h"
#include "services/pod-worker/records/worker_records.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kRoomStrand = "records";

Durability Both(Durability one, Durability other) {
  return {one.permanent || other.permanent, one.fsync || other.fsync};
}

}  // namespace

void WorkerStore::Save(Worker& worker, Durability what, Done done) {
  Writes& writes = writes_[worker.uid];
  ++writes.under_way;
  worker.On(ActivityEvent::kSaveBegun);
  // Retry the failed write first: the table must never show more than the disk holds.
  if (writes.failed) what = Both(what, *writes.failed);
  auto state = std::make_shared<v1::SavedWorker>();
  FillSavedWorker(worker, *state);
  auto permanent = std::make_shared<v1::SavedPod>();
  if (what.permanent) FillSavedPod(worker, *permanent);
  auto record = std::make_shared<v1::WorkerRecord>();
  FillRecord(worker, *record);
  asker_.Ask(
      RecordsStrand(worker.uid),
      [&records = deps_.records, state, permanent, what] {
        // Save the terminal status first: a state `terminated` without it would lose how the pod
        // ended.
        Status status = what.permanent ? records.SavePermanent(*permanent, what.fsync) : OkStatus();
        if (status.ok()) status = records.SaveWorker(*state);
        return status;
      },
      [this, record, what, done = std::move(done)](const Status& status) {
        OnSaved(*record, what, done, status);
      });
}

/// `saved`: the worker when the save began. It may have changed since, and `workers` must never
/// show more than the disk holds.
void WorkerStore::OnSaved(const v1::WorkerRecord& saved, Durability what, const Done& done,
                          const Status& status) {
  const std::string& uid = saved.uid();
  Worker* worker = deps_.workers.Find(uid);
  CHECK(worker != nullptr, "a worker was erased while its state was on its way to the disk");
  Writes& writes = writes_.at(uid);
  if (!status.ok()) {
    const std::string why = Message(status);
    if (writes.error != why)
      deps_.env.log.Error("cannot save the state of a pod, will try again",
                          {KV("podUID", uid), KV("err", status), TraceField(*worker)});
    if (done) done(Unavailable("cannot save the pod's state: {}", why));
    return TryAgain(uid, what, why);
  }
  writes.error.clear();
  const bool last = --writes.under_way == 0;
  if (last) {
    writes_.erase(uid);
    worker->On(ActivityEvent::kSaved);
    PutWorkers(*worker);
  } else {
    Put(*worker, saved);
  }
  if (done) done(OkStatus());
  if (last) deps_.pods.Advance(uid);
}

/// One try at a time, however many calls failed: they come every few seconds while a disk is full.
void WorkerStore::TryAgain(const std::string& uid, Durability what, const std::string& why) {
  Writes& writes = writes_.at(uid);
  writes.error = why;
  if (writes.failed) {
    --writes.under_way;
    writes.failed = Both(*writes.failed, what);
    return;
  }
  writes.failed = what;
  asker_.RunAfter(kTryAgain, [this, uid] {
    Writes& again = writes_.at(uid);
    --again.under_way;
    Save(*deps_.workers.Find(uid), *std::exchange(again.failed, std::nullopt));
  });
}

void WorkerStore::PutWorkers(const Worker& worker) {
  if (IsSaving(worker.activity)) return;
  v1::WorkerRecord record;
  FillRecord(worker, record);
  Put(worker, std::move(record));
}

void WorkerStore::Put(const Worker& worker, v1::WorkerRecord record) {
  if (worker.orphan || worker.incarnation == 0 || worker.removal == Removal::kForgotten) return;
  FAIL_POINT_VOID("pod-worker.put-workers.before");
  record.set_held(deps_.pods.IsHeld(worker.uid));
  deps_.env.log.LogIfError(deps_.table.Put(bus::KeyOf(worker.uid), record, worker.traceparent),
                           "put worker");
  FAIL_POINT_VOID("pod-worker.put-workers.after");
}

void WorkerStore::Forget(const std::string& uid) {
  deps_.env.strands.Run(RecordsStrand(uid), [this, uid] {
    deps_.env.log.LogIfError(deps_.records.ForgetWorker(uid), "forget worker");
  });
}

/// The records of this boot go first: a state without its terminal status would show that a pod is
/// over, but not how. The permanent ones are gone already, unless this process was killed in
/// between.
void WorkerStore::ForgetForEver(const std::string& uid) {
  deps_.env.strands.Run(RecordsStrand(uid), [this, uid] {
    const Status forgotten = deps_.records.ForgetWorker(uid);
    deps_.env.log.LogIfError(forgotten, "forget worker");
    if (forgotten.ok())
      deps_.env.log.LogIfError(deps_.records.ForgetPermanent(uid),
                               "remove the permanent records of a pod");
  });
}

/// A container that has not ended long after it was killed may have ended, in a runtime that waits
/// for room to write so.
void WorkerStore::KeepRoom() {
  if (deps_.env.strands.Pending(kRoomStrand) > 0) return;
  const bool overdue = std::ranges::any_of(deps_.workers, [this](const auto& entry) {
    const Worker& worker = *entry.second;
    return worker.state == WorkerState::kTerminating &&
           deps_.env.clock.Now() - worker.kill.deadline >= kRoomPeriod;
  });
  asker_.Ask(
      kRoomStrand,
      [&records = deps_.records, overdue] {
        return overdue ? records.GiveRoom() : records.KeepRoom();
      },
      [this](const Status& kept) { OnRoomKept(kept); });
}

void WorkerStore::OnRoomKept(const Status& kept) {
  const std::string before = std::exchange(room_trouble_, kept.ok() ? "" : Message(kept));
  if (!kept.ok() && room_trouble_ != before)
    deps_.env.log.Warn("cannot allocate or free the 1 MiB disk reserve, will try again",
                       {KV("err", kept)});
}

}  // namespace splitlet::pod_worker
