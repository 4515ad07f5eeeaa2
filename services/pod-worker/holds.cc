// What must not be touched: pods that gc removes something of, and pods whose files cannot be read.

#include <algorithm>
#include <iterator>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/bus/bus.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod_worker_service.h"
#include "splitlet/v1/pod_worker_facts.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kHold = 60s;
/// gc waits 20 s for the answer: a hold that it does not hear of would only hold up starts.
constexpr Duration kListLimit = 15s;

std::string WayOut(const std::string& key) {
  return fmt::format("\"splitletctl record discard {}\" puts it aside", key);
}

/// The runtime shows nothing of the pod.
StatusOr<bool> ShowsNothingOf(cri::Reader& reader, const std::string& key,
                              const Deadline& deadline) {
  ASSIGN_OR_RETURN(const auto sandboxes, reader.ListPodSandbox("", deadline), "sandboxes");
  ASSIGN_OR_RETURN(const auto containers, reader.ListContainers({}, deadline), "containers");
  const auto of_pod = [&key](const std::string& uid) { return bus::KeyOf(uid) == key; };
  return std::ranges::none_of(sandboxes, of_pod, &cri::Sandbox::pod_uid) &&
         std::ranges::none_of(containers, [&](const cri::Container& container) {
           const auto uid = container.labels.find(std::string(kube::kPodUidLabel));
           return uid != container.labels.end() && of_pod(uid->second);
         });
}

}  // namespace

PodNeed PodWorkerService::NeedOf(const std::string& uid) const {
  const Worker* worker = Find(uid);
  if (worker != nullptr) {
    if (worker->state == WorkerState::kFinished)
      return worker->removed || worker->evicted || worker->orphan ? PodNeed::kNothing
                                                                  : PodNeed::kRemains;
    return worker->busy || worker->saving > 0 ? PodNeed::kEverything : PodNeed::kNewest;
  }
  const std::string key = bus::KeyOf(uid);
  if (unknown_.contains(key)) return PodNeed::kEverything;
  // Without a live view a pod may be wanted that nobody has told of yet.
  return deps_.desired.Contains(key) || !deps_.desired.live() ? PodNeed::kNewest
                                                              : PodNeed::kNothing;
}

void PodWorkerService::OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done) {
  CHECK(deps_.loop.IsCurrent());
  if (!runtime_listed_) return done(Unavailable("the runtime has not been listed yet"));
  deps_.strands.Run("holds", [this, request, done = std::move(done)] {
    const Deadline deadline =
        After(deps_.clock, std::min<Duration>(config_.request_timeout, kListLimit));
    auto sandboxes = deps_.reader.ListPodSandbox("", deadline);
    if (!sandboxes.ok()) return done(sandboxes.status());
    auto containers = deps_.reader.ListContainers({}, deadline);
    if (!containers.ok()) return done(containers.status());
    deps_.loop.Post([this, request, done, s = std::move(*sandboxes), c = std::move(*containers)] {
      AnswerHold(request, s, c, done);
    });
  });
}

/// The hold counts from this step of the loop on; it is on disk before gc hears of it.
void PodWorkerService::AnswerHold(const v1::HoldRequest& request,
                                  const std::vector<cri::Sandbox>& sandboxes,
                                  const std::vector<cri::Container>& containers,
                                  const Done<v1::HoldReply>& done) {
  const HoldWishes wishes{{request.uids().begin(), request.uids().end()},
                          {request.container_ids().begin(), request.container_ids().end()},
                          {request.sandbox_ids().begin(), request.sandbox_ids().end()}};
  const HoldAnswer answer = ComputeHold(wishes, sandboxes, containers,
                                        [this](const std::string& uid) { return NeedOf(uid); });
  const Clock::Time now = deps_.clock.Now();
  v1::HoldReply reply;
  reply.set_hold_id(fmt::format("{}-{}", now.monotonic.count(), ++last_hold_));
  for (const auto& uid : answer.removable.uids) reply.add_uids(uid);
  for (const auto& id : answer.removable.container_ids) reply.add_container_ids(id);
  for (const auto& id : answer.removable.sandbox_ids) reply.add_sandbox_ids(id);
  ToProto(now + kHold, *reply.mutable_until());
  holds_[reply.hold_id()] = {answer.held_uids, now + kHold};
  v1::HoldFact fact;
  for (const auto& uid : answer.held_uids) fact.add_uids(uid);
  *fact.mutable_until() = reply.until();
  deps_.loop.RunAfter(kHold, [this, id = reply.hold_id()] { OnReleaseHold(id); });
  deps_.strands.Run("holds", [this, reply, fact, done] {
    const Status saved = facts_.SaveHold(reply.hold_id(), fact);
    saved.ok() ? done(reply) : done(saved);
  });
}

void PodWorkerService::OnReleaseHold(const std::string& hold_id) {
  CHECK(deps_.loop.IsCurrent());
  const auto found = holds_.find(hold_id);
  if (found == holds_.end()) return;
  const std::set<std::string> uids = std::move(found->second.uids);
  holds_.erase(found);
  deps_.strands.Run("holds", [this, hold_id] {
    deps_.log.LogIfError(facts_.ForgetHold(hold_id), "forget hold");
  });
  for (const auto& uid : uids) {
    const Worker* worker = Find(uid);
    if (worker != nullptr && worker->state == WorkerState::kSyncing) Advance(uid);
  }
}

Clock::Time PodWorkerService::HeldUntil(const std::string& uid) const {
  Clock::Time until;
  for (const auto& [id, hold] : holds_)
    if (hold.uids.contains(uid) && hold.until > deps_.clock.Now() && (!until || hold.until > until))
      until = hold.until;
  return until;
}

// Pods whose files cannot be read: nothing is started or stopped for them, and everybody is told.

void PodWorkerService::TakeUnknown(std::map<std::string, Facts::All::Unknown> unknown) {
  unknown_ = std::move(unknown);
  for (const auto& [key, what] : unknown_) PutUnknown(key);
}

/// Present, of no known state, and in no life: for every reader the pod is neither absent nor over.
void PodWorkerService::PutUnknown(const std::string& key) {
  FAIL_POINT_VOID("pod-worker.put-workers.before");
  v1::WorkerRecord record;
  record.set_uid(key);
  record.set_sync_error(
      fmt::format("its file cannot be read ({}): nothing is started or stopped; {}",
                  unknown_.at(key).why, WayOut(key)));
  if (const auto desired = deps_.desired.Find(key); desired != nullptr) {
    record.set_name(desired->name());
    record.set_namespace_(desired->namespace_());
    record.set_source(desired->source());
  }
  deps_.log.LogIfError(deps_.table.Put(key, record), "put a pod whose file cannot be read");
}

std::vector<std::string> PodWorkerService::Notes() const {
  std::vector<std::string> notes;
  for (const auto& [key, what] : unknown_)
    notes.push_back(
        fmt::format("the file of pod {} cannot be read ({}); {}", key, what.why, WayOut(key)));
  return notes;
}

void PodWorkerService::CollectUnknown() {
  if (!recovered_ || stopping_ || !deps_.desired.LiveAndComplete()) return;
  for (const auto& [key, what] : unknown_) {
    if (!deps_.desired.Contains(key)) {
      CollectUnknown(key, true);
      continue;
    }
    const auto desired = deps_.desired.Find(key);
    const bool removed = desired != nullptr && desired->state() == v1::DesiredRecord::REMOVED;
    if (removed) CollectUnknown(key, false);  // never taken back: there is nobody to ask
  }
}

void PodWorkerService::CollectUnknown(const std::string& key, bool ask) {
  deps_.strands.Run("unknown/" + key, [this, key, ask] {
    const Deadline deadline = After(deps_.clock, config_.request_timeout);
    if (ask) {
      const auto knows = deps_.owner.Knows(key, deadline);
      if (!knows.ok() || *knows) return;
    }
    const auto gone = ShowsNothingOf(deps_.reader, key, deadline);
    if (!gone.ok() || !*gone) return;
    deps_.loop.Post([this, key] {
      if (!unknown_.contains(key)) return;
      Discard(key, [this, key](const StatusOr<std::vector<std::string>>& paths) {
        deps_.log.LogIfError(paths.status(), "put the file of a pod that is gone aside");
      });
    });
  });
}

void PodWorkerService::DiscardRecord(const std::string& uid, Done<std::vector<std::string>> done) {
  CHECK(deps_.loop.IsCurrent());
  if (!recovered_) return done(Unavailable("the files of this boot are not read yet"));
  const std::string key = bus::KeyOf(uid);
  if (!unknown_.contains(key)) return done(NotFound("every file of the pod can be read"));
  Discard(key, std::move(done));
}

void PodWorkerService::Discard(const std::string& key, Done<std::vector<std::string>> done) {
  deps_.strands.Run("unknown/" + key, [this, key, what = unknown_.at(key), done = std::move(done)] {
    auto paths = facts_.PutAside(key, what);
    auto left = std::make_shared<StatusOr<Facts::All>>(facts_.ReadAll(config_.crash_loop_max));
    deps_.loop.Post([this, key, done, paths = std::move(paths), left] {
      const Status status = paths.ok() ? left->status() : paths.status();
      if (!status.ok()) return done(status);
      for (const auto& path : *paths)
        deps_.log.Warn("a file that cannot be read was put aside",
                       {KV("podUID", key), KV("path", path)});
      OnDiscarded(key, **left);
      done(paths);
    });
  });
}

/// What the other files say of the pod counts now, as after a start.
void PodWorkerService::OnDiscarded(const std::string& key, const Facts::All& left) {
  if (unknown_.erase(key) == 0) return;
  const auto of_pod = [&key](const auto& fact) { return bus::KeyOf(fact.uid()) == key; };
  Facts::All own;
  std::ranges::copy_if(left.workers, std::back_inserter(own.workers), of_pod);
  std::ranges::copy_if(left.lasting, std::back_inserter(own.lasting), of_pod);
  if (const auto restarts = left.restarts.find(key); restarts != left.restarts.end())
    own.restarts.insert(*restarts);
  std::ranges::copy_if(left.begun, std::inserter(own.begun, own.begun.end()),
                       [&key](const auto& entry) { return bus::KeyOf(entry.first) == key; });
  AddRecovered(own);
  const auto life = std::ranges::find_if(
      found_, [&key](const auto& found) { return bus::KeyOf(found.first) == key; });
  if (const Worker* worker = workers_.FindByKey(key)) {
    PutWorkers(*worker);
  } else if (life != found_.end()) {
    PutFound(life->first);
  } else {
    deps_.table.Remove(key);
  }
  OnDesired(key, deps_.desired.Find(key), deps_.desired.Contains(key));
  if (const Worker* known = workers_.FindByKey(key)) Advance(known->uid);
}

}  // namespace splitlet::pod_worker
