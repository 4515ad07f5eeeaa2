#include "services/pod-worker/control/gone_pods.h"

#include <utility>
#include <vector>

#include "libs/bus/bus.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kRememberFinished = std::chrono::hours{1};
/// status may need as long until the API server takes the end of the pod's mirror.
constexpr Duration kShowRemoved = std::chrono::minutes{5};

/// gc removes the mark of a pod last of all. A pod without a mark may have something in the
/// runtime: it was taken over from a kubelet.
bool HasLeft(const VolumeManager& volumes, const PodRuntime& runtime, const std::string& uid) {
  const auto marked = volumes.IsMarked(uid);
  if (!marked.ok() || *marked) return true;
  const auto seen = runtime.Inspect(uid);
  return !seen.ok() || seen->sandboxes_size() + seen->containers_size() > 0;
}

}  // namespace

void GonePods::ForgetIfGone(const Worker& worker, const std::string& traceparent) {
  if (!IsGone(worker)) return;
  if (worker.removal == Removal::kNone || deps_.desired.IsComplete(worker.source))
    return Ask(worker, traceparent, false);
  const Clock::Time now = deps_.env.clock.Now();
  if (now - shown_since_.try_emplace(worker.uid, now).first->second > kShowRemoved)
    ForgetIfNothingIsLeft(worker.uid, traceparent);
}

bool GonePods::IsGone(const Worker& worker) const {
  return worker.state == WorkerState::kFinished && !IsSaving(worker.activity) &&
         deps_.table.Contains(bus::KeyOf(worker.uid)) && deps_.desired.live() && !IsWanted(worker);
}

/// No record leaves the view of an incomplete source by its absence from a list. If the messages
/// of a removal were lost, the view keeps the record of an incarnation that no source wants any
/// more, so only config-source can tell.
bool GonePods::IsWanted(const Worker& worker) const {
  const std::string key = bus::KeyOf(worker.uid);
  if (!deps_.desired.Contains(key)) return false;
  if (deps_.desired.IsComplete(worker.source)) return true;
  const auto record = deps_.desired.Find(key);
  return record == nullptr || record->incarnation() > worker.incarnation;
}

void GonePods::ForgetIfNothingIsLeft(const std::string& uid, const std::string& traceparent) {
  runtime_asker_.Ask(
      "left/" + uid,
      [&volumes = deps_.volumes, &runtime = deps_.runtime, uid] {
        return HasLeft(volumes, runtime, uid);
      },
      [this, uid, traceparent](bool left) {
        const Worker* worker = deps_.workers.Find(uid);
        if (!left && worker != nullptr && IsGone(*worker)) Ask(*worker, traceparent, true);
      });
}

void GonePods::Ask(const Worker& asked, const std::string& traceparent, bool nothing_left) {
  deps_.owner.WhenGone(asked.uid, asked.source, [this, uid = asked.uid, traceparent, nothing_left] {
    Worker* worker = deps_.workers.Find(uid);
    if (worker == nullptr || !IsGone(*worker)) return;
    const bool forgotten = nothing_left || deps_.desired.IsComplete(worker->source);
    if (worker->removal != Removal::kNone && !forgotten) return;
    worker->removal = forgotten ? Removal::kForgotten : Removal::kRemoved;
    shown_since_.try_emplace(uid, deps_.env.clock.Now());
    deps_.store.Save(*worker, {}, [this, uid, traceparent](const Status& saved) {
      if (saved.ok()) OnForgotten(uid, traceparent);
    });
  });
}

/// The file has it as forgotten. Its desired record may have come back since: then a caller waits
/// for an answer.
void GonePods::OnForgotten(const std::string& uid, const std::string& traceparent) {
  Worker* worker = deps_.workers.Find(uid);
  if (worker == nullptr || worker->removal != Removal::kForgotten) return;
  const std::string key = bus::KeyOf(uid);
  if (IsWanted(*worker)) {
    worker->removal = Removal::kRemoved;
    return deps_.store.PutWorkers(*worker);
  }
  deps_.found.ForgetForEver(uid);
  shown_since_.erase(uid);
  deps_.table.Remove(key, traceparent.empty() ? worker->traceparent : traceparent);
}

void GonePods::Collect(const std::function<void(const std::string& uid)>& on_erased) {
  const Clock::Time now = deps_.env.clock.Now();
  std::vector<std::string> old;
  for (const auto& [uid, worker] : deps_.workers) {
    ForgetIfGone(*worker);
    const bool gone = !deps_.table.Contains(bus::KeyOf(uid)) && worker->activity == Activity::kIdle;
    if (worker->state == WorkerState::kFinished && gone &&
        now - worker->times.finished_at > kRememberFinished)
      old.push_back(uid);
  }
  for (const auto& uid : old) {
    deps_.workers.Erase(uid);
    deps_.store.ForgetForEver(uid);
    on_erased(uid);
  }
}

}  // namespace splitlet::pod_worker
