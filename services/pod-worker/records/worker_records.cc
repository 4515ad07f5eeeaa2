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

/// One of the records that name a worker's pod and incarnation by the same fields.
template <typename Proto>
void FillIdentity(const Worker& worker, Proto& proto) {
  proto.set_uid(worker.uid);
  proto.set_name(worker.name);
  proto.set_namespace_(worker.name_space);
  proto.set_source(worker.source);
  proto.set_incarnation(worker.incarnation);
}

void FillGrant(const Grant& grant, v1::SavedGrant& fact) {
  fact.set_incarnation(grant.incarnation);
  fact.set_generation(grant.generation);
  fact.set_source(grant.source);
  fact.set_pod(grant.pod);
  fact.set_traceparent(grant.traceparent);
}

Grant ToGrant(const v1::SavedGrant& fact) {
  return {fact.incarnation(), fact.generation(), fact.source(), fact.pod(), fact.traceparent()};
}

}  // namespace

void FillSavedWorker(const Worker& worker, v1::SavedWorker& fact) {
  FillIdentity(worker, fact);
  fact.set_traceparent(worker.traceparent);
  if (worker.grant) FillGrant(*worker.grant, *fact.mutable_grant());
  if (worker.next) FillGrant(*worker.next, *fact.mutable_next());
  fact.set_state(ToProto(worker.state));
  if (worker.deadline) pod_worker::ToProto(worker.deadline, *fact.mutable_deadline());
  fact.set_grace_period_seconds(worker.grace_seconds);
  fact.set_reason(worker.reason);
  fact.set_message(worker.message);
  fact.set_removed(worker.removed);
  fact.set_orphan(worker.orphan);
  for (const auto& id : worker.sandbox_ids) fact.add_sandbox_ids(id);
  if (worker.started_at) pod_worker::ToProto(worker.started_at, *fact.mutable_started_at());
  if (worker.finished_at) pod_worker::ToProto(worker.finished_at, *fact.mutable_finished_at());
  fact.set_forgotten(worker.forgotten);
  if (worker.forgotten && worker.termination.terminal_status)
    *fact.mutable_terminal_status() = *worker.termination.terminal_status;
  if (worker.user_ids && worker.state != WorkerState::kFinished) {
    fact.mutable_user_ids()->set_first(worker.user_ids->first);
    fact.mutable_user_ids()->set_length(worker.user_ids->length);
  }
  for (const auto& [id, deadline] : worker.answers) {
    auto& answer = *fact.add_answers();
    answer.set_request_id(id);
    ToProto(deadline, *answer.mutable_deadline());
  }
}

void FillSavedPod(const Worker& worker, v1::SavedPod& fact) {
  FillIdentity(worker, fact);
  fact.set_start_time_wall_ns(worker.start_wall_ns);
  fact.set_evicted(worker.evicted);
  fact.set_own_limit(worker.own_limit);
  fact.set_shutdown_boot(worker.shutdown_boot);
  fact.set_reason(worker.reason);
  fact.set_message(worker.message);
  if (worker.termination.terminal_status)
    *fact.mutable_terminal_status() = *worker.termination.terminal_status;
}

void FillRecord(const Worker& worker, v1::WorkerRecord& record) {
  FillIdentity(worker, record);
  record.set_generation(worker.grant ? worker.grant->generation : 0);
  record.set_state(ToProto(worker.state));
  record.set_granted(worker.grant.has_value());
  record.set_start_time_wall_ns(worker.start_wall_ns);
  if (worker.deadline) pod_worker::ToProto(worker.deadline, *record.mutable_deadline());
  record.set_grace_period_seconds(worker.grace_seconds);
  record.set_reason(worker.reason);
  record.set_message(worker.message);
  record.set_evicted(worker.evicted);
  record.set_removed(worker.removed);
  record.set_own_limit(worker.own_limit);
  record.set_shutdown_boot(worker.shutdown_boot);
  if (worker.termination.terminal_status)
    *record.mutable_terminal_status() = *worker.termination.terminal_status;
  for (const auto& [name, note] : worker.waiting_reasons) {
    auto& to = *record.add_containers();
    to.set_name(name);
    to.set_reason(note.reason);
    to.set_message(note.message);
    if (note.back_off_until) ToProto(*note.back_off_until, *to.mutable_back_off_until());
  }
  for (const auto& [id, results] : worker.probes) {
    for (const auto& [kind, success] : results) {
      auto& to = *record.add_probes();
      to.set_container_id(id);
      to.set_kind(std::string(NameOf(kind)));
      to.set_success(success);
    }
  }
  if (worker.termination.last_seen) *record.mutable_observation() = *worker.termination.last_seen;
  if (worker.last_action) ToProto(worker.last_action, *record.mutable_last_action_at());
  record.set_refused_generation(worker.refused.generation);
  record.set_refusal(worker.refused.why);
  record.set_sync_error(worker.sync_error);
  record.set_admission_reason(worker.waits_for);
  cri::ToProto(worker.started_attempts, *record.mutable_started_attempts());
}

namespace {

void ApplyTerminalStatus(const v1::TerminalStatus& status, Worker& worker) {
  worker.termination.terminal_status = std::make_shared<v1::TerminalStatus>(status);
  worker.termination.last_seen = std::make_shared<v1::ObservedPod>(status.observation());
}

}  // namespace

std::unique_ptr<Worker> FromSavedWorker(const v1::SavedWorker& fact) {
  auto worker = std::make_unique<Worker>();
  worker->uid = fact.uid();
  worker->name = fact.name();
  worker->name_space = fact.namespace_();
  worker->source = fact.source();
  worker->incarnation = fact.incarnation();
  worker->traceparent = fact.traceparent();
  if (fact.has_grant()) worker->grant = ToGrant(fact.grant());
  if (fact.has_next()) worker->next = ToGrant(fact.next());
  worker->state = FromProto(fact.state());
  if (worker->state == WorkerState::kTerminating) worker->termination.Resume();
  worker->deadline = FromProto(fact.deadline());
  worker->grace_seconds = fact.grace_period_seconds();
  worker->reason = fact.reason();
  worker->message = fact.message();
  worker->removed = fact.removed();
  worker->orphan = fact.orphan();
  worker->sandbox_ids.assign(fact.sandbox_ids().begin(), fact.sandbox_ids().end());
  worker->started_at = FromProto(fact.started_at());
  worker->finished_at = FromProto(fact.finished_at());
  worker->forgotten = fact.forgotten();
  if (fact.has_terminal_status()) ApplyTerminalStatus(fact.terminal_status(), *worker);
  if (fact.has_user_ids())
    worker->user_ids = UserIds{fact.user_ids().first(), fact.user_ids().length()};
  for (const auto& answer : fact.answers())
    worker->answers[answer.request_id()] = FromProto(answer.deadline());
  if (worker->grant) {
    auto traits = TraitsOf(worker->grant->pod);
    if (traits.ok()) worker->traits = std::move(traits).value();
  }
  if (worker->state != WorkerState::kSyncing) worker->ending->Cancel();
  return worker;
}

void ApplySavedPod(const v1::SavedPod& fact, Worker& worker) {
  worker.start_wall_ns = fact.start_time_wall_ns();
  worker.evicted = fact.evicted();
  worker.own_limit = fact.own_limit();
  worker.shutdown_boot = fact.shutdown_boot();
  if (worker.reason.empty()) worker.reason = fact.reason();
  if (worker.message.empty()) worker.message = fact.message();
  if (fact.has_terminal_status()) ApplyTerminalStatus(fact.terminal_status(), worker);
}

}  // namespace splitlet::pod_worker
