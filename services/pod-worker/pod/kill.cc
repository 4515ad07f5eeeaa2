#include "services/pod-worker/pod/kill.h"

#include <algorithm>

#include "services/pod-worker/pod/grace.h"

namespace splitlet::pod_worker {

namespace {

int64_t SecondsLeft(Clock::Time deadline, Clock::Time now) {
  return std::max<int64_t>(std::chrono::ceil<std::chrono::seconds>(deadline - now).count(), 0);
}

}  // namespace

Eviction EvictionOf(bool evicted, bool own_limit) {
  if (!evicted) return Eviction::kNone;
  return own_limit ? Eviction::kForOwnLimit : Eviction::kForNode;
}

KillChange ApplyKill(const KillInput& in, Kill& kill) {
  const KillOrder& order = in.order;
  GraceQuestion question{
      .deletion_seconds = order.deletion_grace ? order.deletion_grace : in.traits.deletion_grace,
      .asked_seconds = order.asked_grace,
      .spec_seconds = in.traits.spec_grace};
  if (kill.deadline) question.left_seconds = SecondsLeft(kill.deadline, in.now);
  const int64_t grace = EffectiveGrace(question);
  const Clock::Time deadline = in.now + std::chrono::seconds{grace};
  KillChange change;
  change.shortened = kill.deadline && deadline < kill.deadline;
  if (!kill.deadline || change.shortened) {
    kill.deadline = deadline;
    kill.grace_seconds = grace;
  }
  change.evicts = order.eviction != Eviction::kNone && !kill.evicted();
  if (change.evicts) kill.eviction = order.eviction;
  // A pod that ended for another reason, or runs once, has ended for good.
  const bool by_shutdown = in.first && change.evicts && order.node_shutdown;
  if (by_shutdown && in.traits.is_static && !in.traits.runs_once) kill.shutdown_boot = in.now.boot;
  if (kill.reason.empty()) {
    kill.reason = order.reason;
    kill.message = order.message;
  }
  return change;
}

}  // namespace splitlet::pod_worker
