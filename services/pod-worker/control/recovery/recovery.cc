#include "services/pod-worker/control/recovery/recovery.h"

#include <map>
#include <utility>

#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/records/worker_records.h"
#include "splitlet/v1/pod_worker_records.pb.h"

namespace splitlet::pod_worker {

namespace {

/// The waiting reason of a container that is replaced is in no file, but its id is: while the
/// runtime has it and no successor of it has ended, the container comes back, however the first one
/// has ended.
void ShowReplaced(const Workers& workers, const std::vector<cri::Container>& containers) {
  std::map<std::pair<Worker*, std::string>, const cri::Container*> newest;
  for (const auto& container : containers) {
    Worker* worker = workers.Find(cri::LabelOf(container.labels, kube::kPodUidLabel));
    if (worker == nullptr || worker->restarts.replacing.empty()) continue;
    if (worker->restarts.replacing.contains(container.id.str()))
      worker->waiting_reasons.try_emplace(container.name,
                                          WaitingReason{kContainerCreating, "", std::nullopt});
    auto& known = newest[{worker, container.name}];
    if (known == nullptr || cri::IsNewer(container, *known)) known = &container;
  }
  for (const auto& [key, container] : newest) {
    const auto& [worker, name] = key;
    const bool replaced = worker->restarts.replacing.contains(container->id.str());
    if (container->state == cri::ContainerState::kExited && !replaced)
      worker->waiting_reasons.erase(name);
  }
}

}  // namespace

void Recovery::ReadRecords() {
  asker_.Ask(
      "recover",
      [&records = deps_.records, max = deps_.crash_loop_max] { return records.ReadAll(max); },
      [this](StatusOr<DiskRecords::All> records) { OnRecordsRead(std::move(records)); });
}

void Recovery::OnRecordsRead(StatusOr<DiskRecords::All> records) {
  if (!records.ok()) {
    const std::string before = std::exchange(trouble_, Message(records.status()));
    if (before != trouble_)
      deps_.env.log.Error("cannot read the files of this process", {KV("err", records.status())});
    asker_.RunAfter(kTryAgain, [this] { ReadRecords(); });
    return;
  }
  trouble_.clear();
  for (const auto& problem : records->problems)
    deps_.env.log.Error("cannot use a record", {KV("reason", problem)});
  AddWorkers(*records);
  is_read_ = true;
  deps_.on_read(*records);
  ListRuntime();
}

void Recovery::AddWorkers(const DiskRecords::All& records) {
  // The time of the last action is not known: it may have been just before the end of the process.
  for (const auto& saved : records.workers)
    deps_.add(FromSavedWorker(saved)).times.last_action = deps_.env.clock.Now();
  for (const auto& saved : records.permanent) AddPermanent(saved);
  for (const auto& [key, saved] : records.restarts) {
    Worker* worker = deps_.workers.FindByKey(key);
    if (worker != nullptr && (saved.incarnation == 0 || saved.incarnation == worker->incarnation))
      worker->restarts = saved.state;
  }
  for (const auto& saved : records.probes) {
    Worker* worker = deps_.workers.Find(saved.uid());
    if (worker == nullptr) continue;
    deps_.probes.OnRead(saved);
    worker->probes = deps_.probes.Of(saved.uid());
  }
  for (const auto& [uid, saved] : records.started_attempts) {
    Worker* worker = deps_.workers.Find(uid);
    if (worker == nullptr) deps_.found.AddStartedAttempts(uid, saved);
    if (worker != nullptr && saved.incarnation == worker->incarnation)
      worker->started_attempts = saved.attempts;
  }
}

void Recovery::AddPermanent(const v1::SavedPod& saved) {
  const bool over = saved.has_terminal_status() || saved.evicted();
  Worker* worker = deps_.workers.Find(saved.uid());
  // Killed while it was forgotten: what is remembered of it is in its other file.
  if (worker != nullptr && worker->removal == Removal::kForgotten &&
      saved.incarnation() <= worker->incarnation)
    return deps_.found.ForgetForEver(saved.uid());
  // Or between the files of the next incarnation, which may be gone by now.
  const bool of_next = worker != nullptr && saved.incarnation() > worker->incarnation;
  if (of_next || (worker == nullptr && !over)) return deps_.found.AddStartTime(saved);
  if (worker != nullptr && worker->incarnation != saved.incarnation()) return;
  if (worker == nullptr) {
    // From another boot: the pod is over; what is left of it is ended.
    auto ended = std::make_unique<Worker>();
    ended->uid = saved.uid();
    ended->name = saved.name();
    ended->name_space = saved.namespace_();
    ended->source = saved.source();
    ended->incarnation = saved.incarnation();
    worker = &deps_.add(std::move(ended));
  }
  ApplySavedPod(saved, *worker);
  // Killed between the terminal status and the change of state: it stands.
  if (worker->state != WorkerState::kSyncing || !over) return;
  deps_.terminator.Kill(*worker, {});
  deps_.store.Save(*worker, {});
}

StatusOr<Recovery::Listed> Recovery::List(cri::Reader& reader, const Deadline& deadline) {
  auto sandboxes = reader.ListPodSandbox("", deadline);
  if (!sandboxes.ok()) return sandboxes.status();
  auto containers = reader.ListContainers({}, deadline);
  if (!containers.ok()) return containers.status();
  return Listed{std::move(*sandboxes), std::move(*containers)};
}

void Recovery::ListRuntime() {
  asker_.Ask(
      "recover",
      [&reader = deps_.reader, &clock = deps_.env.clock, limit = deps_.request_timeout] {
        return List(reader, After(clock, limit));
      },
      [this](const StatusOr<Listed>& listed) { OnRuntimeListed(listed); });
}

void Recovery::OnRuntimeListed(const StatusOr<Listed>& listed) {
  const Status& status = listed.status();
  if (!status.ok()) {
    if (runtime_trouble_.empty())
      deps_.env.log.Warn("cannot list the runtime, will try again", {KV("err", status)});
    runtime_trouble_ = Message(status);
    deps_.pods.OnRuntimeAnswer(runtime_trouble_);
    asker_.RunAfter(kTryAgain, [this] { ListRuntime(); });
    return;
  }
  deps_.pods.OnRuntimeAnswer("");
  is_listed_ = true;
  ShowReplaced(deps_.workers, listed->containers);
  deps_.on_listed(listed->sandboxes, listed->containers);
}

}  // namespace splitlet::pod_worker
