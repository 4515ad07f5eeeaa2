#pragma once

/// Finished pods that no source wants any more: marks their records as removed, and forgets them.
/// In:      pods that have finished, pods that left `desired`, a timer.
/// Owns:    `removal` of finished workers; how long a forgotten one is remembered.
/// Out:     puts to `workers` and removals from it; questions to config-source; files that go.
/// Killed:  `removal` is on disk before the table shows it, and the timer asks again.
/// Threads: the loop's, but for questions and inspections of what is left.
/// Errors:  none; a question without an answer is asked again.
/// Source:  docs/safety.md, rules 8, 9 and 25.

#include <functional>
#include <map>
#include <string>

#include "libs/base/clock.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/control/recovery/desired_confirmation.h"
#include "services/pod-worker/control/recovery/found_incarnations.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class GonePods {
 public:
  struct Deps {
    exec::Env env;
    exec::Strands& runtime_strands;
    const bus::View<v1::DesiredRecord>& desired;
    bus::Table<v1::WorkerRecord>& table;
    const DesiredConfirmation& owner;
    const PodRuntime& runtime;
    const VolumeManager& volumes;
    Workers& workers;
    WorkerStore& store;
    FoundIncarnations& found;
  };
  explicit GonePods(Deps deps)
      : deps_(deps), runtime_asker_(deps_.env.loop, deps_.runtime_strands) {}

  /// A finished pod leaves the table, and its terminal status the disk for ever, when its desired
  /// record is gone and config-source confirms it, as far as the source of the pod is concerned.
  /// While that source is incomplete, the record stays for 5 min and until nothing of the pod is
  /// left, because only the record shows gc and status that the pod was removed. `traceparent`: of
  /// the change that took the pod away, where that is known.
  void ForgetIfGone(const Worker& worker, const std::string& traceparent = {});
  /// The same of all pods; and forgotten ones are remembered for an hour, over starts too: longer
  /// than any call that could start them again lives, and for readers that did not see the record
  /// leave. Now and then.
  void Collect(const std::function<void(const std::string& uid)>& on_erased);

 private:
  /// No source wants this incarnation, as far as the views show: config-source must confirm it.
  bool IsGone(const Worker& worker) const;
  bool IsWanted(const Worker& worker) const;
  void ForgetIfNothingIsLeft(const std::string& uid, const std::string& traceparent);
  void Ask(const Worker& worker, const std::string& traceparent, bool nothing_left);
  void OnForgotten(const std::string& uid, const std::string& traceparent);

  const Deps deps_;
  std::map<std::string, Clock::Time> shown_since_;  // as removed, by UID; since this start at most
  const exec::Asker runtime_asker_;                 // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
