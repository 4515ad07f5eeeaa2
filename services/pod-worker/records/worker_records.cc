#include "services/pod-worker/records/worker_records.h"

#include <algorithm>
#include <utility>

#include "services/pod-worker/records/disk_records.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

v1::WorkerState ToProto(WorkerState state) {
  switch (state) {
    case WorkerState::kSyncing: return v1::SYNCING;
    case WorkerState::kTerminating: return v1::TERMINATING;
    case WorkerState::kTerminated: return v1::TERMINATED;
    case WorkerState::kFinished: return v1::FINISHED;
  }
  UNREACHABLE();
}

/// A value of a newer version ends the pod's incarnation here rather than starting it.
WorkerState FromProto(v1::WorkerState state) {
  if (state == v1::SYNCING) return WorkerState::kSyncing;
  if (state == v1::TERMINATED) return WorkerState::kTerminated;
  return state == v1::FINISHED ? WorkerState::kFinished : WorkerState::kTerminating;
}

v1::ProbeResult::Probe ToProto(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return v1::ProbeResult::STARTUP;
    case ProbeKind::kReadiness: return v1::ProbeResult::READINESS;
    case ProbeKind::kLiveness: return v1::ProbeResult::LIVENESS;
  }
  UNREACHABLE();
}

v1::WaitingReason::Cause ToProto(WaitingReason::Cause cause) {
  switch (cause) {
    case WaitingReason::Cause::kOther: return v1::WaitingReason::OTHER;
    case WaitingReason::Cause::kPostStartHook: return v1::WaitingReason::POST_START_HOOK;
  }
  UNREACHABLE();
}

/// One of the records that name a worker's pod and incarnation by the same fields.
template <typename Proto>
void FillIdentity(const Worker& worker, Proto& proto) {
  proto.set_uid(worker.uid);
  proto.set_name(worker.name);
  proto.set_namespace_(worker.name_space);
  proto.set_source(worker.source);
  proto.set_incarnation(worker.incarnation);
}

void FillGrant(const Grant& grant, v1::SavedGrant& saved) {
  saved.set_incarnation(grant.incarnation);
  saved.set_generation(grant.generation);
  saved.set_source(grant.source);
  saved.set_pod(grant.pod.bytes());
  saved.set_traceparent(grant.traceparent);
}

Grant ToGrant(const v1::SavedGrant& saved) {
  auto pod = kube::PodBytes::CheckAndParse(saved.pod());
  CHECK(pod.ok(), "DiskRecords leaves out a grant of no pod");
  return {.incarnation = saved.incarnation(),
          .generation = saved.generation(),
          .source = saved.source(),
          .pod = std::move(pod->bytes),
          .traceparent = saved.traceparent(),
          .parsed = std::move(pod->pod)};
}

}  // namespace

void FillSavedWorker(const Worker& worker, v1::SavedWorker& saved) {
  FillIdentity(worker, saved);
  saved.set_traceparent(worker.traceparent);
  if (worker.grant) FillGrant(*worker.grant, *saved.mutable_grant());
  if (worker.next) FillGrant(*worker.next, *saved.mutable_next());
  saved.set_state(ToProto(worker.state));
  if (worker.kill.deadline) pod_worker::ToProto(worker.kill.deadline, *saved.mutable_deadline());
  saved.set_grace_period_seconds(worker.kill.grace_seconds);
  saved.set_reason(worker.kill.reason);
  saved.set_message(worker.kill.message);
  saved.set_removed(worker.removal != Removal::kNone);
  saved.set_orphan(worker.orphan);
  for (const auto& id : worker.sandbox_ids) saved.add_sandbox_ids(id);
  if (worker.times.started_at)
    pod_worker::ToProto(worker.times.started_at, *saved.mutable_started_at());
  if (worker.times.finished_at)
    pod_worker::ToProto(worker.times.finished_at, *saved.mutable_finished_at());
  saved.set_forgotten(worker.removal == Removal::kForgotten);
  if (worker.removal == Removal::kForgotten && worker.termination.terminal_status)
    *saved.mutable_terminal_status() = *worker.termination.terminal_status;
  if (worker.user_ids && worker.state != WorkerState::kFinished) {
    saved.mutable_user_ids()->set_first(worker.user_ids->first);
    saved.mutable_user_ids()->set_length(worker.user_ids->length);
  }
  for (const auto& [id, deadline] : worker.answers) {
    auto& answer = *saved.add_answers();
    answer.set_request_id(id);
    ToProto(deadline, *answer.mutable_deadline());
  }
}

void FillSavedPod(const Worker& worker, v1::SavedPod& saved) {
  FillIdentity(worker, saved);
  saved.set_start_time_wall_ns(worker.times.start_wall_ns);
  saved.set_evicted(worker.kill.evicted());
  saved.set_own_limit(worker.kill.eviction == Eviction::kForOwnLimit);
  saved.set_shutdown_boot(worker.kill.shutdown_boot);
  saved.set_reason(worker.kill.reason);
  saved.set_message(worker.kill.message);
  if (worker.termination.terminal_status)
    *saved.mutable_terminal_status() = *worker.termination.terminal_status;
}

void FillRecord(const Worker& worker, v1::WorkerRecord& record) {
  FillIdentity(worker, record);
  record.set_generation(worker.grant ? worker.grant->generation : 0);
  record.set_state(ToProto(worker.state));
  record.set_granted(worker.grant.has_value());
  record.set_start_time_wall_ns(worker.times.start_wall_ns);
  if (worker.kill.deadline) pod_worker::ToProto(worker.kill.deadline, *record.mutable_deadline());
  record.set_grace_period_seconds(worker.kill.grace_seconds);
  record.set_reason(worker.kill.reason);
  record.set_message(worker.kill.message);
  record.set_evicted(worker.kill.evicted());
  record.set_removed(worker.removal != Removal::kNone);
  record.set_own_limit(worker.kill.eviction == Eviction::kForOwnLimit);
  record.set_shutdown_boot(worker.kill.shutdown_boot);
  if (worker.termination.terminal_status)
    *record.mutable_terminal_status() = *worker.termination.terminal_status;
  for (const auto& [name, note] : worker.waiting_reasons) {
    auto& to = *record.add_containers();
    to.set_name(name);
    to.set_reason(note.reason);
    to.set_message(note.message);
    to.set_cause(ToProto(note.cause));
    if (note.back_off_until) ToProto(*note.back_off_until, *to.mutable_back_off_until());
  }
  for (const auto& [id, results] : worker.probes) {
    for (const auto& [kind, success] : results) {
      auto& to = *record.add_probes();
      to.set_container_id(id);
      to.set_kind(std::string(NameOf(kind)));
      to.set_probe(ToProto(kind));
      to.set_success(success);
    }
  }
  if (worker.termination.last_seen) *record.mutable_observation() = *worker.termination.last_seen;
  if (worker.times.last_action) ToProto(worker.times.last_action, *record.mutable_last_action_at());
  record.set_refused_generation(worker.refused.generation);
  record.set_refusal(worker.refused.why);
  record.set_sync_error(worker.trouble.text());
  record.set_admission_reason(worker.waits_for);
  cri::ToProto(worker.started_attempts, *record.mutable_started_attempts());
}

namespace {

void ApplyTerminalStatus(const v1::TerminalStatus& status, Worker& worker) {
  worker.termination.terminal_status = std::make_shared<v1::TerminalStatus>(status);
  worker.termination.last_seen = std::make_shared<v1::ObservedPod>(status.observation());
}

}  // namespace

std::unique_ptr<Worker> FromSavedWorker(const v1::SavedWorker& saved) {
  auto worker = std::make_unique<Worker>();
  worker->uid = saved.uid();
  worker->name = saved.name();
  worker->name_space = saved.namespace_();
  worker->source = saved.source();
  worker->incarnation = saved.incarnation();
  worker->traceparent = saved.traceparent();
  if (saved.has_grant()) worker->grant = ToGrant(saved.grant());
  if (worker->grant) worker->traits = TraitsOf(*std::exchange(worker->grant->parsed, nullptr));
  if (saved.has_next()) worker->next = ToGrant(saved.next());
  if (worker->next) worker->next->parsed = nullptr;
  worker->state = FromProto(saved.state());
  if (worker->state == WorkerState::kTerminating) worker->termination.Resume();
  worker->kill.deadline = FromProto(saved.deadline());
  worker->kill.grace_seconds = saved.grace_period_seconds();
  worker->kill.reason = saved.reason();
  worker->kill.message = saved.message();
  if (saved.removed()) worker->removal = Removal::kRemoved;
  if (saved.forgotten()) worker->removal = Removal::kForgotten;
  worker->orphan = saved.orphan();
  worker->sandbox_ids.assign(saved.sandbox_ids().begin(), saved.sandbox_ids().end());
  worker->times.started_at = FromProto(saved.started_at());
  worker->times.finished_at = FromProto(saved.finished_at());
  if (saved.has_terminal_status()) ApplyTerminalStatus(saved.terminal_status(), *worker);
  if (saved.has_user_ids())
    worker->user_ids = UserIds{saved.user_ids().first(), saved.user_ids().length()};
  for (const auto& answer : saved.answers())
    worker->answers[answer.request_id()] = FromProto(answer.deadline());
  if (worker->state != WorkerState::kSyncing) worker->ending->Cancel();
  return worker;
}

void ApplySavedPod(const v1::SavedPod& saved, Worker& worker) {
  worker.times.start_wall_ns = saved.start_time_wall_ns();
  worker.kill.eviction = EvictionOf(saved.evicted(), saved.own_limit());
  worker.kill.shutdown_boot = saved.shutdown_boot();
  if (worker.kill.reason.empty()) worker.kill.reason = saved.reason();
  if (worker.kill.message.empty()) worker.kill.message = saved.message();
  if (saved.has_terminal_status()) ApplyTerminalStatus(saved.terminal_status(), worker);
}

}  // namespace splitlet::pod_worker
