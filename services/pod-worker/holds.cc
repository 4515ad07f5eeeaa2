#include <algorithm>

#include "services/pod-worker/pod_worker_service.h"
#include "splitlet/v1/pod_worker_facts.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kHold = 60s;
/// gc waits 20 s for the answer: a hold that it does not hear of would only hold up starts.
constexpr Duration kListLimit = 15s;

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

}  // namespace splitlet::pod_worker
