#include "services/pod-worker/control/request_handler.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/bus.h"
#include "libs/kube/names.h"
#include "libs/kube/pod_bytes.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr int kMissingPasses = 2;
constexpr size_t kMaxAnswers = 16;
constexpr int64_t kOrphanGrace = 1;
constexpr int64_t kSecond = 1'000'000'000;  // in nanoseconds

/// Whether the record ends this incarnation; that is never taken back.
bool IsOver(const v1::DesiredRecord& record, const PodTraits& traits) {
  return record.state() == v1::DesiredRecord::REMOVED || traits.deleted;
}

int64_t AnnotatedGrace(const v1::ObservedPod& seen) {
  int64_t grace = 0;
  for (const auto& container : seen.containers())
    grace = std::max(grace, container.grace_period_seconds());
  return grace > 0 ? grace : kOrphanGrace;
}

/// The containers that would be made first: they show why they are not.
std::map<std::string, WaitingReason> WaitingReasonsOfRefusal(const kube::Pod& pod,
                                                             const std::string& why) {
  std::map<std::string, WaitingReason> reasons;
  const WaitingReason reason{"CreateContainerConfigError", why, std::nullopt};
  const auto& spec = pod.spec();
  if (!spec.init_containers().empty()) return {{spec.init_containers(0).name(), reason}};
  for (const auto& container : spec.containers()) reasons[container.name()] = reason;
  return reasons;
}

v1::KillPodReply KillReply(Clock::Time deadline) {
  v1::KillPodReply reply;
  if (deadline) ToProto(deadline, *reply.mutable_deadline());
  return reply;
}

}  // namespace

Status CheckUid(const std::string& uid) {
  const std::string problem = kube::CheckUid(uid);
  return problem.empty() ? OkStatus() : InvalidArgument("the UID \"{}\" {}", uid, problem);
}

PodView RequestHandler::ViewOf(const std::string& uid) const {
  PodView view;
  if (const Worker* worker = deps_.workers.Find(uid)) {
    view.worker = {.incarnation = worker->incarnation,
                   .state = worker->state,
                   .orphan = worker->orphan,
                   .busy = IsInStep(worker->activity),
                   .saving = IsSaving(worker->activity)};
    if (worker->grant) view.worker->granted = worker->grant->generation;
    if (worker->next) view.worker->next = {worker->next->incarnation, worker->next->generation};
  } else if (const FoundIncarnation* found = deps_.found.Find(uid)) {
    view.found = found->incarnation;
  }
  return view;
}

/// The pod of a request.
struct RequestHandler::Offer {
  kube::ParsedPod pod = {};                       // once it is checked
  const GrantChecker::Asked* answered = nullptr;  // by config-source; null: not asked yet
};

void RequestHandler::OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                                 const std::string& traceparent) {
  Update(request, std::move(done), traceparent, {});
}

void RequestHandler::Update(const v1::UpdatePodRequest& request, DoneStatus done,
                            const std::string& traceparent, Offer offer) {
  Worker* worker = deps_.workers.Find(request.uid());
  const GrantAction action =
      DecideGrant(ViewOf(request.uid()), {request.incarnation(), request.generation()});
  if (action == GrantAction::kRefuseOver) {
    PublishAgain(*worker, request.incarnation() == worker->incarnation);
    return done(FailedPrecondition("this incarnation of the pod is over"));
  }
  if (action == GrantAction::kAnswer) {
    AnswerSaved(*worker, std::move(done));
    if (worker->state == WorkerState::kSyncing) deps_.pods.Advance(request.uid());
    return;
  }
  if (request.pod().empty()) return done(InvalidArgument("no pod in the request"));
  auto result = CheckOffer(request, traceparent, offer);
  if (!result.ok()) return done(result.status());
  GrantChecker::Result& checked = *result;
  switch (checked.step) {
    case GrantChecker::Step::kTake: break;
    case GrantChecker::Step::kRefused: return done(checked.why);
    case GrantChecker::Step::kUnmanaged:
    case GrantChecker::Step::kUnsafe: Refuse(action, request, checked); return done(checked.why);
    case GrantChecker::Step::kAsk:
      return deps_.checker.Ask(
          request,
          [this, request, done, traceparent,
           pod = std::move(offer.pod)](const GrantChecker::Asked& answer) {
            Update(request, done, traceparent, {pod, &answer});
          },
          done);
  }
  PodTraits traits = TraitsOf(*checked.pod.pod);
  if (traits.uid != request.uid()) return done(InvalidArgument("the pod is of UID {}", traits.uid));
  AcceptGrant(action,
              {.incarnation = request.incarnation(),
               .generation = request.generation(),
               .source = request.source(),
               .pod = std::move(checked.pod.bytes),
               .traceparent = traceparent,
               .parsed = std::move(checked.pod.pod)},
              std::move(traits), std::move(done));
}

/// Parses the pod of the request into `offer`, unless it is there. INVALID_ARGUMENT: the request
/// has no pod.
StatusOr<GrantChecker::Result> RequestHandler::CheckOffer(const v1::UpdatePodRequest& request,
                                                          const std::string& traceparent,
                                                          Offer& offer) const {
  static const kube::PodBytes kNothing;
  if (offer.pod.pod == nullptr) {
    ASSIGN_OR_RETURN(offer.pod, kube::PodBytes::CheckAndParse(request.pod()), "pod of UID {}",
                     request.uid());
  }
  const Worker* worker = deps_.workers.Find(request.uid());
  const bool granted =
      worker != nullptr && worker->grant && worker->incarnation == request.incarnation();
  return deps_.checker.Check({.request = request,
                              .traceparent = traceparent,
                              .pod = offer.pod,
                              .granted = granted ? worker->grant->pod : kNothing,
                              .asked = offer.answered});
}

/// The record of the worker shows the refusal, and with it the pod's status; sync-loop stops
/// sending a pod that is unsafe. Nothing is saved: the next start of this process, which may decide
/// otherwise, is asked again.
void RequestHandler::Refuse(GrantAction action, const v1::UpdatePodRequest& request,
                            const GrantChecker::Result& checked) {
  const v1::DesiredRecord& wanted = *checked.record;
  Worker* worker = deps_.workers.Find(request.uid());
  const bool other = worker == nullptr || worker->incarnation != wanted.incarnation();
  if (action == GrantAction::kBegin && other) worker = &AddUngranted(wanted);
  if (worker == nullptr || worker->incarnation != request.incarnation()) return;
  const bool unsafe = checked.step == GrantChecker::Step::kUnsafe;
  RefusedGrant refused{unsafe ? request.generation() : 0, std::string(Message(checked.why))};
  if (worker->refused == refused) return;
  worker->refused = std::move(refused);
  if (!worker->grant)
    worker->waiting_reasons = WaitingReasonsOfRefusal(*checked.pod.pod, worker->refused.why);
  if (worker->state == WorkerState::kSyncing)
    PodEvents(deps_.events, RefOf(*worker))
        .Warning("FailedValidation",
                 fmt::format("Error validating pod {}({}) from {}, ignoring: {}",
                             kube::FullName(worker->name, worker->name_space), worker->uid,
                             worker->source, worker->refused.why));
  deps_.store.PutWorkers(*worker);
}

void RequestHandler::AcceptGrant(GrantAction action, Grant grant, PodTraits traits,
                                 DoneStatus done) {
  const std::string uid = traits.uid;
  Worker* worker = deps_.workers.Find(uid);
  switch (action) {
    case GrantAction::kRefuseOver:
    case GrantAction::kAnswer: UNREACHABLE();
    case GrantAction::kRefuseBelowFound:
      deps_.found.PutWorkers(uid);
      return done(FailedPrecondition("the runtime shows a later incarnation of the pod"));
    case GrantAction::kEndFound:
      return EndFound(*deps_.found.Find(uid), std::move(grant), std::move(traits), std::move(done));
    case GrantAction::kAnswerWaiting: return AnswerSaved(*worker, std::move(done));
    case GrantAction::kShorten: return Shorten(*worker, traits, grant.traceparent, std::move(done));
    case GrantAction::kBegin: {
      Worker& fresh = deps_.add(NewIncarnation(std::move(grant), std::move(traits)));
      deps_.store.Save(fresh, {.permanent = true}, std::move(done));
      break;
    }
    case GrantAction::kWait:
      worker->next = std::move(grant);
      worker->next->parsed = nullptr;
      deps_.terminator.Kill(*worker, {.traceparent = worker->next->traceparent});
      deps_.store.Save(*worker, {}, std::move(done));
      break;
    case GrantAction::kUpdate:
      TakeUpdate(*worker, std::move(grant), std::move(traits));
      deps_.store.Save(*worker, {}, std::move(done));
      break;
  }
  ApplyDesired(uid);
}

void RequestHandler::TakeUpdate(Worker& worker, Grant grant, PodTraits traits) {
  const bool announced = !worker.traits.unsupported_fields.empty();
  worker.traceparent = grant.traceparent;
  worker.grant = std::move(grant);
  worker.refused = {};
  worker.traits = std::move(traits);
  worker.syncs.failures = 0;
  if (!announced) ReportUnsupported(worker);
  if (worker.traits.deleted) deps_.terminator.Kill(worker, {.removed = true});
}

void RequestHandler::Shorten(Worker& worker, const PodTraits& traits,
                             const std::string& traceparent, DoneStatus done) {
  if (traits.deleted && deps_.terminator.Kill(worker, {.removed = true,
                                                       .deletion_grace = traits.deletion_grace,
                                                       .traceparent = traceparent}))
    return deps_.store.Save(worker, {}, std::move(done));
  done(OkStatus());
}

/// The state that is answered again may not be on disk yet: the first try may have failed.
void RequestHandler::AnswerSaved(Worker& worker, DoneStatus done) {
  if (IsSaving(worker.activity)) return deps_.store.Save(worker, {}, std::move(done));
  done(OkStatus());
}

/// The incarnation before is over, and what it left has not been ended.
void RequestHandler::EndFound(FoundIncarnation found, Grant grant, PodTraits traits,
                              DoneStatus done) {
  auto before = std::make_unique<Worker>();
  before->uid = traits.uid;
  before->name = traits.name;
  before->name_space = traits.name_space;
  before->source = std::move(found.source);
  before->incarnation = found.incarnation;
  before->traits = std::move(traits);
  before->next = std::move(grant);
  before->next->parsed = nullptr;
  deps_.found.Forget(before->uid);
  Worker& added = deps_.add(std::move(before));
  deps_.terminator.Kill(added, {.traceparent = added.next->traceparent});
  deps_.store.Save(added, {}, std::move(done));
  ApplyDesired(added.uid);
}

std::unique_ptr<Worker> RequestHandler::NewIncarnation(Grant grant, PodTraits traits) {
  auto worker = std::make_unique<Worker>();
  worker->uid = traits.uid;
  worker->name = traits.name;
  worker->name_space = traits.name_space;
  worker->source = grant.source;
  worker->incarnation = grant.incarnation;
  worker->traceparent = grant.traceparent;
  worker->times.start_wall_ns = ToNanos(deps_.clock.WallNow());
  worker->times.started_at = deps_.clock.Now();
  worker->times.granted_at = worker->times.started_at;
  worker->started = deps_.gate.IsLeftover(*worker);
  deps_.found.HandOver(*worker);
  // The API has whole seconds.
  if (traits.shown_start_ns && *traits.shown_start_ns + kSecond <= worker->times.start_wall_ns)
    BackdateStart(*traits.shown_start_ns, *worker);
  deps_.metrics.containers_per_pod.Observe(static_cast<double>(traits.containers));
  const bool deleted = traits.deleted;
  worker->grant = std::move(grant);
  worker->traits = std::move(traits);
  if (deleted) deps_.terminator.Kill(*worker, {.removed = true});
  ReportUnsupported(*worker);
  return worker;
}

/// Once in an incarnation: later starts of this process read the grant from its file and report
/// nothing.
void RequestHandler::ReportUnsupported(const Worker& worker) {
  const std::string& what = worker.traits.unsupported_fields;
  if (what.empty() || worker.state != WorkerState::kSyncing) return;
  PodEvents(deps_.events, RefOf(worker)).Warning("FeatureNotSupported", what);
  deps_.log.Warn("pod uses unsupported fields",
                 {KV("pod", kube::PodKey(worker.name_space, worker.name)), KV("podUID", worker.uid),
                  KV("reason", what), TraceField(worker)});
}

void RequestHandler::OnKillPod(const v1::KillPodRequest& request, DoneKill done,
                               const std::string& traceparent) {
  if (request.incarnation() == 0) return KillOrphan(request, std::move(done));
  Worker* worker = deps_.workers.Find(request.uid());
  peers::DesiredOwner::Record desired;
  if (worker == nullptr) desired = deps_.desired.Find(bus::KeyOf(request.uid()));
  const bool answered = worker != nullptr && worker->answers.contains(request.request_id());
  switch (DecideKill(ViewOf(request.uid()),
                     {request.incarnation(), answered,
                      desired ? std::optional{desired->incarnation()} : std::nullopt})) {
    case KillAction::kRefuseUnknown:
      return done(FailedPrecondition("no such incarnation of the pod"));
    case KillAction::kAnswerOver: return done(v1::KillPodReply());
    case KillAction::kRefuseNotYet:
      return done(Unavailable("an earlier incarnation of the pod has not ended yet"));
    case KillAction::kAnswerAgain: return AnswerKillAgain(*worker, request, std::move(done));
    case KillAction::kEndUngranted: return Kill(AddUngranted(*desired), request, traceparent, done);
    case KillAction::kEnd: return Kill(*worker, request, traceparent, done);
  }
}

void RequestHandler::AnswerKillAgain(Worker& worker, const v1::KillPodRequest& request,
                                     const DoneKill& done) {
  const v1::KillPodReply reply = KillReply(worker.answers.at(request.request_id()));
  if (!IsSaving(worker.activity)) return done(reply);
  // Not on disk yet: the first try may have failed to get it there.
  deps_.store.Save(
      worker, {.permanent = true, .fsync = worker.kill.evicted()},
      [done, reply](const Status& status) { status.ok() ? done(reply) : done(status); });
}

void RequestHandler::Kill(Worker& worker, const v1::KillPodRequest& request,
                          const std::string& traceparent, const DoneKill& done) {
  KillOrder order{.reason = request.reason(),
                  .message = request.message(),
                  .eviction = EvictionOf(request.evict(), request.own_limit()),
                  .node_shutdown = request.node_shutdown(),
                  .traceparent = traceparent};
  if (request.has_grace()) order.asked_grace = request.grace_period_seconds();
  deps_.terminator.Kill(worker, order);
  if (worker.answers.size() >= kMaxAnswers) worker.answers.erase(worker.answers.begin());
  if (!request.request_id().empty()) worker.answers[request.request_id()] = worker.kill.deadline;
  deps_.store.Save(worker, {.permanent = true, .fsync = request.evict()},
                   [done, reply = KillReply(worker.kill.deadline)](const Status& status) {
                     status.ok() ? done(reply) : done(status);
                   });
}

/// Containers in the runtime that no record speaks of.
void RequestHandler::KillOrphan(const v1::KillPodRequest& request, DoneKill done) {
  if (request.sandbox_ids().empty()) return done(InvalidArgument("no sandbox ids in the request"));
  deps_.strands.Run(request.uid(), [this, request, done = std::move(done)] {
    auto seen = std::make_shared<StatusOr<v1::ObservedPod>>(deps_.runtime.Inspect(request.uid()));
    deps_.loop.Post([this, request, seen, done] {
      seen->ok() ? EndOrphan(request, **seen, done) : done(seen->status());
    });
  });
}

void RequestHandler::EndOrphan(const v1::KillPodRequest& request, const v1::ObservedPod& seen,
                               const DoneKill& done) {
  Worker* worker = deps_.workers.Find(request.uid());
  const bool desired = deps_.desired.Contains(bus::KeyOf(request.uid()));
  switch (DecideOrphanKill(ViewOf(request.uid()), desired)) {
    case OrphanAction::kRefuseDesired: return done(FailedPrecondition("a source knows the pod"));
    case OrphanAction::kRefuseWorker: return done(FailedPrecondition("the pod has a worker"));
    case OrphanAction::kRefuseSaving:
      return done(Unavailable("the pod's state is on its way to the disk"));
    case OrphanAction::kEnd: worker = &AddOrphan(request, seen); break;
    case OrphanAction::kEndSooner: break;
  }
  const auto reply = [this, uid = request.uid(), done](const Status& status) {
    const Worker* orphan = deps_.workers.Find(uid);
    v1::KillPodReply answer;
    if (orphan != nullptr) ToProto(orphan->kill.deadline, *answer.mutable_deadline());
    status.ok() ? done(answer) : done(status);
  };
  KillOrder order{.asked_grace = AnnotatedGrace(seen)};
  if (request.has_grace()) order.asked_grace = request.grace_period_seconds();
  deps_.log.Info("killing containers of a pod without a record", {KV("podUID", request.uid())});
  deps_.terminator.Kill(*worker, order);
  deps_.store.Save(*worker, {}, reply);
}

Worker& RequestHandler::AddOrphan(const v1::KillPodRequest& request, const v1::ObservedPod& seen) {
  auto orphan = std::make_unique<Worker>();
  orphan->uid = request.uid();
  orphan->name = seen.name();
  orphan->name_space = seen.namespace_();
  if (const Worker* before =
          deps_.workers.Find(request.uid())) {  // its incarnation is remembered still
    orphan->incarnation = before->incarnation;
    orphan->source = before->source;
    orphan->times.start_wall_ns = before->times.start_wall_ns;
    if (before->removal != Removal::kNone) orphan->removal = Removal::kRemoved;
    orphan->kill.eviction = before->kill.eviction;
    orphan->kill.shutdown_boot = before->kill.shutdown_boot;
    orphan->termination.terminal_status = before->termination.terminal_status;
  }
  orphan->orphan = true;
  orphan->sandbox_ids.assign(request.sandbox_ids().begin(), request.sandbox_ids().end());
  return deps_.add(std::move(orphan));
}

void RequestHandler::ApplyDesired(const std::string& uid) {
  if (const auto record = deps_.desired.Find(bus::KeyOf(uid))) OnDesired(*record, {});
}

void RequestHandler::BeginNext(Worker& finished) {
  const std::string uid = finished.uid;
  Grant next = std::move(*finished.next);
  next.parsed = next.Parsed().Get();
  PodTraits traits = TraitsOf(*next.parsed);
  Worker& fresh = deps_.add(NewIncarnation(std::move(next), std::move(traits)));
  deps_.store.Save(fresh, {.permanent = true});
  ApplyDesired(uid);
}

/// The traits of the granted pod if the record is of the same pod.
StatusOr<PodTraits> RequestHandler::TraitsOfDesired(const v1::DesiredRecord& record) const {
  const Worker* worker = deps_.workers.Find(record.uid());
  const bool granted = worker != nullptr && worker->grant && !worker->grant->pod.empty();
  if (granted && worker->grant->pod.bytes() == record.pod()) return worker->traits;
  ASSIGN_OR_RETURN(const kube::Pod pod, kube::ParsePod(record.pod()), "record of pod {}",
                   kube::PodKey(record.namespace_(), record.name()));
  return TraitsOf(pod);
}

void RequestHandler::OnDesired(const v1::DesiredRecord& record, const std::string& traceparent) {
  if (record.state() == v1::DesiredRecord::UNCONFIRMED ||
      record.state() == v1::DesiredRecord::MIRROR)
    return;
  if (const Status usable = CheckUid(record.uid()); !usable.ok())
    return deps_.log.LogIfError(usable, "take a desired pod");
  if (deps_.is_unreadable(bus::KeyOf(record.uid()))) return;
  Worker* worker = deps_.workers.Find(record.uid());
  if (worker != nullptr) worker->missing_passes = 0;
  const auto traits = TraitsOfDesired(record);
  if (!traits.ok()) return deps_.log.LogIfError(traits.status(), "take a desired pod");
  const bool over = IsOver(record, *traits);
  const KillOrder order{
      .removed = true, .deletion_grace = traits->deletion_grace, .traceparent = traceparent};
  switch (DecideDesired(ViewOf(record.uid()), {record.incarnation(), over})) {
    case DesiredAction::kNone: return;
    case DesiredAction::kPublishLater: return PublishAgain(*worker, false);
    case DesiredAction::kPublish: return PublishAgain(*worker, true);
    case DesiredAction::kEndForLater:
      if (worker->next && over && worker->next->incarnation <= record.incarnation())
        worker->next.reset();
      if (deps_.terminator.Kill(*worker, {.traceparent = traceparent}))
        deps_.store.Save(*worker, {});
      return;
    case DesiredAction::kEnd:
      if (deps_.terminator.Kill(*worker, order)) return deps_.store.Save(*worker, {});
      return PublishAgain(*worker, true);
    case DesiredAction::kTryLater: return deps_.pods.AdvanceAfter(record.uid(), 1s);
    case DesiredAction::kEndUngranted: break;
  }
  Worker& ungranted = AddUngranted(record);
  ungranted.traits = *traits;
  deps_.terminator.Kill(ungranted, order);
  deps_.store.Save(ungranted, {});
}

/// Known by its desired record only.
Worker& RequestHandler::AddUngranted(const v1::DesiredRecord& record) {
  auto ungranted = std::make_unique<Worker>();
  ungranted->uid = record.uid();
  ungranted->name = record.name();
  ungranted->name_space = record.namespace_();
  ungranted->source = record.source();
  ungranted->incarnation = record.incarnation();
  return deps_.add(std::move(ungranted));
}

/// A record at or below an incarnation that is over stands until `workers` shows the end, and may
/// come when the answer was taken back already: config-source was complete without the pod, died,
/// and finds its file again; or it has forgotten the incarnation, and begins below it by a wall
/// clock that was set back. config-source will then choose a higher incarnation; the terminal
/// status belongs to the old one.
void RequestHandler::PublishAgain(Worker& worker, bool same_incarnation) {
  const bool unannounced = !deps_.table.Contains(bus::KeyOf(worker.uid));
  if (worker.state != WorkerState::kFinished || IsSaving(worker.activity) || !unannounced) return;
  if (!same_incarnation) {
    worker.termination.terminal_status.reset();
    worker.kill.eviction = Eviction::kNone;
    worker.kill.shutdown_boot = 0;
  }
  if (worker.removal == Removal::kForgotten) worker.removal = Removal::kRemoved;
  deps_.store.PutWorkers(worker);
}

void RequestHandler::CheckMissing() {
  for (const auto& [uid, worker] : deps_.workers) {
    const bool gone = worker->state == WorkerState::kSyncing &&
                      !deps_.desired.Contains(bus::KeyOf(uid)) &&
                      deps_.desired.LiveAndComplete(worker->source);
    worker->missing_passes = gone ? worker->missing_passes + 1 : 0;
    if (worker->missing_passes >= kMissingPasses) AskOwner(*worker);
  }
}

void RequestHandler::AskOwner(const Worker& suspect) {
  deps_.owner.WhenGone(suspect.uid, suspect.source, [this, uid = suspect.uid] {
    Worker* worker = deps_.workers.Find(uid);
    if (worker == nullptr || worker->missing_passes < kMissingPasses) return;
    deps_.log.Info("killing a pod that no source wants", {KV("podUID", uid), TraceField(*worker)});
    if (deps_.terminator.Kill(*worker, {.removed = true})) deps_.store.Save(*worker, {});
  });
}

}  // namespace splitlet::pod_worker
