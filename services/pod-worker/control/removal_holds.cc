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

StatusOr<RemovalHolds::Listed> RemovalHolds::List(cri::Reader& reader, const Deadline& deadline) {
  auto sandboxes = reader.ListPodSandbox("", deadline);
  if (!sandboxes.ok()) return sandboxes.status();
  auto containers = reader.ListContainers({}, deadline);
  if (!containers.ok()) return containers.status();
  return Listed{std::move(*sandboxes), std::move(*containers)};
}

void RemovalHolds::OnHoldForRemoval(const v1::HoldRequest& request, Done done) {
  asker_.Ask(
      "holds",
      [&reader = deps_.reader, &clock = deps_.env.clock,
       limit = std::min<Duration>(deps_.request_timeout, kListLimit)] {
        return List(reader, After(clock, limit));
      },
      [this, request, done = std::move(done)](const StatusOr<Listed>& listed) {
        listed.ok() ? Answer(request, *listed, done) : done(listed.status());
      });
}

/// The hold counts from this step of the loop on; it is on disk before gc gets the answer.
void RemovalHolds::Answer(const v1::HoldRequest& request, const Listed& listed, const Done& done) {
  const HoldWishes wishes{{request.uids().begin(), request.uids().end()},
                          {request.container_ids().begin(), request.container_ids().end()},
                          {request.sandbox_ids().begin(), request.sandbox_ids().end()}};
  const HoldAnswer answer = ComputeHold(wishes, listed.sandboxes, listed.containers, deps_.need);
  const Clock::Time now = deps_.env.clock.Now();
  v1::HoldReply reply;
  reply.set_hold_id(fmt::format("{}-{}", now.monotonic.count(), ++last_hold_));
  for (const auto& uid : answer.removable.uids) reply.add_uids(uid);
  for (const auto& id : answer.removable.container_ids) reply.add_container_ids(id);
  for (const auto& id : answer.removable.sandbox_ids) {
    reply.add_sandbox_ids(id);
    if (deps_.stopped_sandboxes.Contains(id)) reply.add_stopped_sandbox_ids(id);
  }
  deps_.stopped_sandboxes.KeepOnly(listed.sandboxes);
  ToProto(now + kHold, *reply.mutable_until());
  Add(reply.hold_id(), {answer.held_uids, now + kHold});
  v1::SavedHold hold;
  for (const auto& uid : answer.held_uids) hold.add_uids(uid);
  *hold.mutable_until() = reply.until();
  asker_.Ask(
      "holds",
      [&records = deps_.records, id = reply.hold_id(), hold] { return records.SaveHold(id, hold); },
      [this, reply, done](const Status& saved) {
        if (saved.ok()) return done(reply);
        OnReleaseHold(reply.hold_id());  // gc removes nothing under it
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
