#include "services/pod-worker/control/removal_holds.h"

#include <algorithm>
#include <utility>

#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kHold = 60s;
/// gc waits 20 s for the answer: a hold that gc does not know of would only delay starts.
constexpr Duration kListLimit = 15s;

}  // namespace

void RemovalHolds::OnRead(const std::map<std::string, v1::SavedHold>& on_disk) {
  for (const auto& [id, saved] : on_disk)
    Add(id, {{saved.uids().begin(), saved.uids().end()}, FromProto(saved.until())});
}

void RemovalHolds::Add(const std::string& hold_id, Hold hold) {
  const Duration left = std::max(hold.until - deps_.env.clock.Now(), Duration{0});
  holds_[hold_id] = std::move(hold);
  deps_.env.loop.RunAfter(left, [this, hold_id] { OnReleaseHold(hold_id); });
}

void RemovalHolds::OnHoldForRemoval(const v1::HoldRequest& request, Done done) {
  deps_.env.strands.Run("holds", [this, request, done = std::move(done)] {
    const Deadline deadline =
        After(deps_.env.clock, std::min<Duration>(deps_.request_timeout, kListLimit));
    auto sandboxes = deps_.reader.ListPodSandbox("", deadline);
    if (!sandboxes.ok()) return done(sandboxes.status());
    auto containers = deps_.reader.ListContainers({}, deadline);
    if (!containers.ok()) return done(containers.status());
    deps_.env.loop.Post([this, request, done, s = std::move(*sandboxes),
                         c = std::move(*containers)] { Answer(request, s, c, done); });
  });
}

/// The hold counts from this step of the loop on; it is on disk before gc gets the answer.
void RemovalHolds::Answer(const v1::HoldRequest& request,
                          const std::vector<cri::Sandbox>& sandboxes,
                          const std::vector<cri::Container>& containers, const Done& done) {
  const HoldWishes wishes{{request.uids().begin(), request.uids().end()},
                          {request.container_ids().begin(), request.container_ids().end()},
                          {request.sandbox_ids().begin(), request.sandbox_ids().end()}};
  const HoldAnswer answer = ComputeHold(wishes, sandboxes, containers, deps_.need);
  const Clock::Time now = deps_.env.clock.Now();
  v1::HoldReply reply;
  reply.set_hold_id(fmt::format("{}-{}", now.monotonic.count(), ++last_hold_));
  for (const auto& uid : answer.removable.uids) reply.add_uids(uid);
  for (const auto& id : answer.removable.container_ids) reply.add_container_ids(id);
  for (const auto& id : answer.removable.sandbox_ids) {
    reply.add_sandbox_ids(id);
    if (deps_.stopped_sandboxes.Contains(id)) reply.add_stopped_sandbox_ids(id);
  }
  deps_.stopped_sandboxes.KeepOnly(sandboxes);
  ToProto(now + kHold, *reply.mutable_until());
  Add(reply.hold_id(), {answer.held_uids, now + kHold});
  v1::SavedHold hold;
  for (const auto& uid : answer.held_uids) hold.add_uids(uid);
  *hold.mutable_until() = reply.until();
  deps_.env.strands.Run("holds", [this, reply, hold, done] {
    const Status saved = deps_.records.SaveHold(reply.hold_id(), hold);
    if (saved.ok()) return done(reply);
    // gc removes nothing under it.
    deps_.env.loop.Post([this, id = reply.hold_id()] { OnReleaseHold(id); });
    done(saved);
  });
}

void RemovalHolds::OnReleaseHold(const std::string& hold_id) {
  const auto found = holds_.find(hold_id);
  if (found == holds_.end()) return;
  const std::set<std::string> uids = std::move(found->second.uids);
  holds_.erase(found);
  deps_.env.strands.Run("holds", [this, hold_id] {
    deps_.env.log.LogIfError(deps_.records.ForgetHold(hold_id), "forget hold");
  });
  for (const auto& uid : uids) deps_.pods.OnPodChanged(uid);
}

Clock::Time RemovalHolds::HeldUntil(const std::string& uid) const {
  Clock::Time until;
  for (const auto& [id, hold] : holds_)
    if (hold.uids.contains(uid) && hold.until > deps_.env.clock.Now() &&
        (!until || hold.until > until))
      until = hold.until;
  return until;
}

}  // namespace splitlet::pod_worker
