#include "services/pod-worker/control/static_pod_start_gate.h"

#include "libs/cri/labels.h"
#include "libs/cri/trace_scope.h"
#include "libs/kube/names.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kLeftoverRetry = 1s;

bool IsLive(const cri::Container& container) {
  return container.state != cri::ContainerState::kExited;
}

bool IsLive(const v1::ObservedPod& seen) {
  for (const auto& sandbox : seen.sandboxes())
    if (sandbox.state() == v1::SandboxRecord::READY) return true;
  for (const auto& record : seen.containers())
    if (record.state() != v1::ContainerRecord::EXITED) return true;
  return false;
}

bool SameName(const Worker& one, const Worker& other) {
  return one.name == other.name && one.name_space == other.name_space;
}

std::string FullNameOf(const Worker& worker) {
  return kube::FullName(worker.name, worker.name_space);
}

}  // namespace

void StaticPodStartGate::OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                                         const std::vector<cri::Container>& containers) {
  std::map<std::string, std::string> static_names;  // UID -> full name, of pods from a file or URL
  for (const auto& sandbox : sandboxes) {
    if (!kube::IsStaticSource(cri::LabelOf(sandbox.annotations, kube::kConfigSource))) continue;
    const std::string full = kube::FullName(sandbox.pod_name, sandbox.pod_namespace);
    static_names[sandbox.pod_uid] = full;
    if (sandbox.state == cri::SandboxState::kReady) leftovers_[full].insert(sandbox.pod_uid);
  }
  for (const auto& container : containers) {
    const auto name = static_names.find(cri::LabelOf(container.labels, kube::kPodUidLabel));
    if (name != static_names.end() && IsLive(container))
      leftovers_[name->second].insert(name->first);
  }
}

bool StaticPodStartGate::IsLeftover(const Worker& worker) const {
  const auto found = leftovers_.find(FullNameOf(worker));
  return found != leftovers_.end() && found->second.contains(worker.uid);
}

StaticPodStartGate::Wait StaticPodStartGate::WaitOf(const Worker& worker) const {
  if (const Worker* other = OtherBefore(worker))
    return {fmt::format("waits for pod {} of the same name", other->uid), ""};
  const auto left = leftovers_.find(FullNameOf(worker));
  if (left == leftovers_.end()) return {};
  for (const auto& uid : left->second)
    if (uid != worker.uid)
      return {fmt::format("waits for containers of pod {} of the same name", uid), uid};
  return {};
}

const Worker* StaticPodStartGate::OtherBefore(const Worker& worker) const {
  for (const auto& [uid, other] : deps_.workers) {
    if (uid == worker.uid || !kube::IsStaticSource(other->source)) continue;
    if (!SameName(*other, worker) || other->state == WorkerState::kFinished) continue;
    if (other->started || other->state != WorkerState::kSyncing || other->arrival < worker.arrival)
      return other.get();
  }
  return nullptr;
}

void StaticPodStartGate::Inspect(const Worker& waiting, const std::string& leftover) {
  asker_.Ask(
      "leftover/" + leftover,
      [&runtime = deps_.runtime, leftover, traceparent = waiting.traceparent] {
        const cri::TraceScope trace(traceparent);
        const auto seen = runtime.Inspect(leftover);
        return seen.ok() && !IsLive(*seen);
      },
      [this, uid = waiting.uid, full = FullNameOf(waiting), leftover](bool gone) {
        if (gone) Forget(full, leftover);
        gone ? deps_.pods.Advance(uid) : deps_.pods.AdvanceAfter(uid, kLeftoverRetry);
      });
}

void StaticPodStartGate::OnFinished(const Worker& worker) {
  Forget(FullNameOf(worker), worker.uid);
}

void StaticPodStartGate::Forget(const std::string& full_name, const std::string& uid) {
  const auto found = leftovers_.find(full_name);
  if (found == leftovers_.end()) return;
  found->second.erase(uid);
  if (found->second.empty()) leftovers_.erase(found);
}

std::vector<std::string> StaticPodStartGate::WaitingFor(const Worker& worker) const {
  std::vector<std::string> waiting;
  for (const auto& [uid, other] : deps_.workers)
    if (uid != worker.uid && SameName(*other, worker) && other->state == WorkerState::kSyncing &&
        !other->started)
      waiting.push_back(uid);
  return waiting;
}

}  // namespace splitlet::pod_worker
