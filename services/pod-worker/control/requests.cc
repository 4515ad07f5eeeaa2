#include "services/pod-worker/control/requests.h"

namespace splitlet::pod_worker {

namespace {

bool IsFinished(const PodView::OfWorker& worker) { return worker.state == WorkerState::kFinished; }

/// The incarnation of an orphan is the one before, which is over.
bool IsOver(const PodView::OfWorker& worker, int64_t incarnation) {
  const bool finished = worker.orphan || IsFinished(worker);
  return incarnation < worker.incarnation || (finished && incarnation == worker.incarnation);
}

}  // namespace

GrantAction DecideGrant(const PodView& view, const GrantNumber& grant) {
  using enum GrantAction;
  if (!view.worker) {
    if (view.found && grant.incarnation < *view.found) return kRefuseBelowFound;
    return view.found && grant.incarnation > *view.found ? kEndFound : kBegin;
  }
  const PodView::OfWorker& worker = *view.worker;
  if (IsOver(worker, grant.incarnation)) return kRefuseOver;
  const bool same = worker.incarnation == grant.incarnation;
  if (same && worker.granted && grant.generation <= *worker.granted) return kAnswer;
  if (worker.orphan || grant.incarnation > worker.incarnation) {
    if (IsFinished(worker) && !worker.saving) return kBegin;
    return worker.next && grant <= *worker.next ? kAnswerWaiting : kWait;
  }
  if (worker.state != WorkerState::kSyncing) return kShorten;
  return worker.granted ? kUpdate : kBegin;
}

KillAction DecideKill(const PodView& view, const KillQuestion& question) {
  using enum KillAction;
  if (!view.worker)
    return question.desired == question.incarnation ? kEndUngranted : kRefuseUnknown;
  if (view.worker->incarnation > question.incarnation) return kAnswerOver;
  if (view.worker->incarnation < question.incarnation) return kRefuseNotYet;
  return question.answered ? kAnswerAgain : kEnd;
}

OrphanAction DecideOrphanKill(const PodView& view, bool desired) {
  using enum OrphanAction;
  if (desired) return kRefuseDesired;
  if (!view.worker) return kEnd;
  if (!view.worker->orphan && !IsFinished(*view.worker)) return kRefuseWorker;
  if (view.worker->saving) return kRefuseSaving;
  return IsFinished(*view.worker) ? kEnd : kEndSooner;
}

DesiredAction DecideDesired(const PodView& view, const DesiredQuestion& question) {
  using enum DesiredAction;
  if (!view.worker) return question.over ? kEndUngranted : kNone;
  const PodView::OfWorker& worker = *view.worker;
  if (question.incarnation < worker.incarnation) return kPublishLater;
  const bool later = question.incarnation > worker.incarnation;
  if (later && !IsFinished(worker)) return kEndForLater;
  if (!question.over) return !later && IsFinished(worker) ? kPublish : kNone;
  if (!later) return kEnd;
  return worker.saving || worker.busy ? kTryLater : kEndUngranted;
}

}  // namespace splitlet::pod_worker
