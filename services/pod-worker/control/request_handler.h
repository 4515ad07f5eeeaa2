#pragma once

/// Carries out what is asked for: grants, kills and desired records, as requests.h decides.
/// In:      UpdatePod, KillPod, changes of `desired`, a timer; each after the files are read.
/// Owns:    nothing; what is asked for, and what was refused for good, is in the workers.
/// Out:     workers that are added, changed or killed; answers, when their content is on disk; an
///          event FailedValidation for a grant that is refused as no retry can change it.
/// Killed:  the caller gets no answer and comes again.
/// Threads: the loop's, but for the inspection of an orphan and questions to config-source.
/// Errors:  as each answer says. Bytes that are no pod: INVALID_ARGUMENT for a grant; a record of
///          `desired` with such bytes is logged, and starts and stops nothing.
/// Source:  docs/safety.md, rules 8, 10, 14, 15, 16 and 19.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/control/grant_checker.h"
#include "services/pod-worker/control/recovery/desired_confirmation.h"
#include "services/pod-worker/control/recovery/found_incarnations.h"
#include "services/pod-worker/control/requests.h"
#include "services/pod-worker/control/static_pod_start_gate.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/termination/pod_terminator.h"

namespace splitlet::v1 {
class DesiredRecord;
class KillPodReply;
class KillPodRequest;
class UpdatePodRequest;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// A UID names directories.
Status CheckUid(const std::string& uid);

class RequestHandler {
 public:
  using DoneStatus = std::function<void(Status)>;
  using DoneKill = std::function<void(StatusOr<v1::KillPodReply>)>;
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const PodRuntime& runtime;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::Table<v1::WorkerRecord>& table;
    daemon::EventRecorder& events;
    Metrics& metrics;
    const Log& log;
    const Workers& workers;
    WorkerStore& store;
    FoundIncarnations& found;
    const StaticPodStartGate& gate;
    PodTerminator& terminator;
    GrantChecker& checker;
    const DesiredConfirmation& owner;
    std::function<bool(const std::string& key)> is_unreadable;
    std::function<Worker&(std::unique_ptr<Worker>)> add;
    PodAdvancer& pods;
  };
  explicit RequestHandler(Deps deps) : deps_(std::move(deps)) {}

  void OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                   const std::string& traceparent);
  void OnKillPod(const v1::KillPodRequest& request, DoneKill done, const std::string& traceparent);
  /// A record that ends an incarnation is never taken back, so it counts whatever the state of the
  /// view.
  void OnDesired(const v1::DesiredRecord& record, const std::string& traceparent);
  /// The same, of what `desired` shows of the pod, if anything.
  void ApplyDesired(const std::string& uid);
  /// The incarnation before is finished: the grant that waited follows it.
  void BeginNext(Worker& finished);
  /// Granted pods whose record is gone from a complete table: on the second pass config-source is
  /// asked, and the pod is ended. Now and then.
  void CheckMissing();

 private:
  PodView ViewOf(const std::string& uid) const;
  struct Offer;
  StatusOr<GrantChecker::Result> CheckOffer(const v1::UpdatePodRequest& request,
                                            const std::string& traceparent, Offer& offer) const;
  void Refuse(GrantAction action, const v1::UpdatePodRequest& request,
              const GrantChecker::Result& checked);
  void Update(const v1::UpdatePodRequest& request, DoneStatus done, const std::string& traceparent,
              Offer offer);
  void AcceptGrant(GrantAction action, Grant grant, PodTraits traits, DoneStatus done);
  void TakeUpdate(Worker& worker, Grant grant, PodTraits traits);
  void Shorten(Worker& worker, const PodTraits& traits, const std::string& traceparent,
               DoneStatus done);
  StatusOr<PodTraits> TraitsOfDesired(const v1::DesiredRecord& record) const;
  void AnswerSaved(Worker& worker, DoneStatus done);
  std::unique_ptr<Worker> NewIncarnation(Grant grant, PodTraits traits);
  void EndFound(FoundIncarnation found, Grant grant, PodTraits traits, DoneStatus done);
  void ReportUnsupported(const Worker& worker);
  void Kill(Worker& worker, const v1::KillPodRequest& request, const std::string& traceparent,
            const DoneKill& done);
  void AnswerKillAgain(Worker& worker, const v1::KillPodRequest& request, const DoneKill& done);
  void KillOrphan(const v1::KillPodRequest& request, DoneKill done);
  void EndOrphan(const v1::KillPodRequest& request, const v1::ObservedPod& seen,
                 const DoneKill& done);
  Worker& AddUngranted(const v1::DesiredRecord& record);
  Worker& AddOrphan(const v1::KillPodRequest& request, const v1::ObservedPod& seen);
  void PublishAgain(Worker& worker, bool same_incarnation);
  void AskOwner(const Worker& suspect);

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
