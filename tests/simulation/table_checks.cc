// Required contents of a simulated node's tables at rest: `runtime` equals the runtime's state, and
// `podstatus` is true for each pod. Read through a separate reader.

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/typed.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_truth.h"

namespace splitlet::simulation {
namespace {

using Found = std::vector<std::string>;

/// "c web-1 running", one line for each sandbox and container, sorted.
using Parts = std::set<std::string>;

std::string Part(const cri::Container& c) {
  constexpr const char* kStates[] = {"created", "running", "exited", "unknown"};
  return fmt::format("container {} {} code {} count {}", c.id.str(),
                     kStates[static_cast<int>(c.state)], c.exit_code,
                     ValueOf(c.annotations, kube::kContainerRestartCount));
}

std::string Part(const v1::ContainerRecord& c) {
  constexpr const char* kStates[] = {"unknown", "created", "running", "exited"};
  return fmt::format("container {} {} code {} count {}", c.id(), kStates[c.state()], c.exit_code(),
                     c.restart_count());
}

std::string Part(const std::string& id, bool ready) {
  return fmt::format("sandbox {} {}", id, ready ? "ready" : "not ready");
}

Found CheckRuntimeTable(const cri::FakeRuntime& runtime, const bus::View<v1::RuntimeRecord>& view) {
  std::map<std::string, Parts> real, told;
  for (const auto& sandbox : runtime.Sandboxes())
    real[sandbox.pod_uid].insert(
        Part(sandbox.id.str(), sandbox.state == cri::SandboxState::kReady));
  for (const auto& container : runtime.Containers())
    real[ValueOf(container.labels, kube::kPodUidLabel)].insert(Part(container));
  view.ForEach([&told](const std::string& key, const auto& record) {
    if (record == nullptr) return;
    Parts& parts = told[key];
    for (const auto& sandbox : record->pod().sandboxes())
      parts.insert(Part(sandbox.id(), sandbox.state() == v1::SandboxRecord::READY));
    for (const auto& container : record->pod().containers()) parts.insert(Part(container));
  });
  Found found;
  if (!view.LiveAndComplete() || !view.completeness().not_vouched.empty())
    found.push_back("`runtime` is not complete, or does not vouch for all pods");
  if (real == told) return found;
  for (const auto& [uid, parts] : real)
    for (const auto& part : parts)
      if (!told[uid].contains(part))
        found.push_back(fmt::format("`runtime` does not show of {}: {}", uid, part));
  for (const auto& [uid, parts] : told) {
    if (!real.contains(uid)) found.push_back(fmt::format("`runtime` shows {}, which is gone", uid));
    for (const auto& part : parts)
      if (!real[uid].contains(part))
        found.push_back(fmt::format("`runtime` shows of {}: {}", uid, part));
  }
  return found;
}

/// Whether a container's API status agrees with the runtime.
std::string WrongAboutContainer(const kube::ContainerStatus& status, const cri::Container& real,
                                bool lost) {
  const bool running = real.state == cri::ContainerState::kRunning;
  if (status.state().has_running() != running)
    return running ? "it runs and is not shown so" : "it is shown running";
  if (status.ready() != running && status.name() != "job") return "its readiness is wrong";
  if (status.container_id() != "containerd://" + real.id.str())
    return fmt::format("it is {} and shown as {}", real.id.str(), status.container_id());
  // A lost container still counts, and only the status remembers it.
  if (!lost && std::to_string(status.restart_count()) !=
                   ValueOf(real.annotations, kube::kContainerRestartCount))
    return fmt::format("its restart count is {} and shown as {}",
                       ValueOf(real.annotations, kube::kContainerRestartCount),
                       status.restart_count());
  if (running) return "";
  const auto& end = status.state().has_terminated() ? status.state().terminated()
                                                    : status.last_state().terminated();
  return end.exit_code() == real.exit_code ? "" : "its exit code is wrong";
}

const kube::ContainerStatus* WithId(const kube::PodStatus& status, const std::string& id) {
  for (const auto& container : status.container_statuses())
    if (container.container_id() == id) return &container;
  return nullptr;
}

}  // namespace

std::string ValueOf(const cri::StringMap& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? std::string() : found->second;
}

bool IsTrue(const kube::PodStatus& status, std::string_view condition) {
  return std::ranges::any_of(status.conditions(), [&](const auto& c) {
    return c.type() == condition && c.status() == "True";
  });
}

Truth TruthOf(const std::string& uid, SimNode::Wanted::Kind kind,
              const std::vector<cri::Sandbox>& sandboxes,
              const std::vector<cri::Container>& containers) {
  Truth truth;
  for (const auto& sandbox : sandboxes)
    if (sandbox.pod_uid == uid && sandbox.state == cri::SandboxState::kReady)
      truth.sandbox = &sandbox;
  for (const auto& container : containers)
    if (ValueOf(container.labels, kube::kPodUidLabel) == uid &&
        (truth.newest == nullptr || truth.newest->attempt < container.attempt))
      truth.newest = &container;
  truth.ends = kind == SimNode::Wanted::Kind::kJob || kind == SimNode::Wanted::Kind::kOnce;
  return truth;
}

std::string WrongAboutPod(const kube::PodStatus& status, const Truth& truth) {
  const bool unseen = truth.ends && truth.lost;  // its exit is unknown
  if (unseen && status.phase() == "Failed") return "";
  const std::string phase = truth.ends ? "Succeeded" : "Running";
  if (status.phase() != phase) return fmt::format("its phase is {}", status.phase());
  if (unseen) return "";
  if (truth.newest == nullptr) return truth.ends ? "" : "it has no container";
  if (status.container_statuses_size() != 1) return "it does not show its container";
  auto wrong = WrongAboutContainer(status.container_statuses(0), *truth.newest, truth.lost);
  if (!wrong.empty() || truth.ends) return wrong;
  const bool running = truth.newest->state == cri::ContainerState::kRunning;
  if (IsTrue(status, "Ready") != running) return "its condition Ready is wrong";
  if (truth.sandbox == nullptr) return "it has no ready sandbox";
  if (!IsTrue(status, "PodReadyToStartContainers")) return "its sandbox is said not to be ready";
  if (!truth.sandbox->ips.empty() && status.pod_ip() != truth.sandbox->ips.front())
    return fmt::format("its address is {} and shown as {}", truth.sandbox->ips.front(),
                       status.pod_ip());
  return "";
}

namespace {

std::string WrongAboutEvicted(const kube::PodStatus& status) {
  const bool right = status.phase() == "Failed" && status.reason() == "Evicted";
  return right ? "" : fmt::format("evicted, it is shown {} ({})", status.phase(), status.reason());
}

}  // namespace

void SimNode::WatchStatus() {
  told_.reset();  // from the boot before
  watcher_.reset();
  watcher_ = std::make_unique<bus::FakeBus>(network_, "watcher", world_);
  told_ = std::make_unique<bus::View<v1::PodStatusRecord>>(
      *bus::ViewOf<v1::PodStatusRecord>(*watcher_, "podstatus"));
  told_->OnChange([this](const auto& change) {
    if (change.after != nullptr) WatchPressure(*change.after);
    if (change.before == nullptr || change.after == nullptr || change.after->has_node()) return;
    if (change.before->incarnation() != change.after->incarnation()) return;
    const auto wrong = WrongAfter(*change.before, *change.after);
    if (!wrong.empty()) Report(fmt::format("`podstatus` of {}: {}", change.after->name(), wrong));
  });
}

std::string SimNode::WrongAfter(const v1::PodStatusRecord& before,
                                const v1::PodStatusRecord& after) const {
  kube::PodStatus old_status, status;
  if (!old_status.ParseFromString(before.status()) || !status.ParseFromString(after.status()))
    return "it cannot be read";
  const std::string& phase = old_status.phase();
  if ((phase == "Succeeded" || phase == "Failed") && status.phase() != phase)
    return fmt::format("{} after {}", status.phase(), phase);
  if (machine_.preparing) return "";  // all pods end
  for (const auto& [name, wanted] : wanted_) {
    const bool this_one = after.name().starts_with(name + "-");
    if (!this_one || wanted.kind != Wanted::Kind::kSteady || wanted.touched) continue;
    for (const auto& real : runtime_->Containers()) {
      const auto* known = WithId(old_status, "containerd://" + real.id.str());
      if (real.state != cri::ContainerState::kRunning || known == nullptr) continue;
      const auto* now = WithId(status, known->container_id());
      if (known->ready() && (now == nullptr || !now->ready()))
        return fmt::format("{} is not ready any more while it runs", real.id.str());
      if (now != nullptr && now->ready() && !probed_.contains(name))
        return fmt::format("{} is ready and was never probed", real.id.str());
    }
  }
  return {};
}

std::vector<std::string> SimNode::CheckStatusTable(
    const bus::View<v1::PodStatusRecord>& view) const {
  Found found;
  const auto sandboxes = runtime_->Sandboxes();
  const auto containers = runtime_->Containers();
  std::map<std::string, int> shown;  // by the name of the manifest
  view.ForEach([&](const std::string& uid, const auto& record) {
    if (record == nullptr || record->has_node() || record->source() == kube::kApiSource) return;
    const auto wanted = std::ranges::find_if(wanted_, [&record](const auto& entry) {
      return record->name().starts_with(entry.first + "-");
    });
    if (wanted == wanted_.end()) {
      found.push_back(fmt::format("`podstatus` shows {}, which nobody wants", record->name()));
      return;
    }
    ++shown[wanted->first];
    kube::PodStatus status;
    if (!status.ParseFromString(record->status())) found.push_back("a status cannot be read");
    const auto kind = wanted->second.kind;
    Truth truth = TruthOf(uid, kind, sandboxes, containers);
    truth.lost = wanted->second.lost || wanted->second.down;
    auto wrong =
        IsEvicted(wanted->first) ? WrongAboutEvicted(status) : WrongAboutPod(status, truth);
    const LifeOfPod life{uid, std::to_string(record->incarnation())};
    if (wrong.empty() && kind == Wanted::Kind::kOnce && !wanted->second.down &&
        !runs_.contains(life) && !maybe_ran_.contains(life))
      wrong = "it has never run in this life";
    if (!wrong.empty())
      found.push_back(fmt::format("`podstatus` of {}: {}", record->name(), wrong));
  });
  for (const auto& [name, wanted] : wanted_)
    if (shown[name] != 1)
      found.push_back(fmt::format("`podstatus` shows {} pods of {}", shown[name], name));
  return found;
}

Found SimNode::CheckRemains(const bus::View<v1::DesiredRecord>& desired,
                            const bus::View<v1::WorkerRecord>& workers) {
  Found found;
  workers.ForEach([&](const std::string& key, const auto& record) {
    if (key != bus::kNodeKey && record != nullptr && !desired.Contains(key))
      found.push_back(fmt::format("`workers` still has {} {}", record->name(), key));
  });
  for (const char* dir : {"/state/pods", "/kubelet/pods", "/state/config-source"}) {
    const auto entries = files_.List(dir);
    if (!entries.ok()) continue;
    for (const auto& entry : *entries)
      if (!desired.Contains(entry.name))
        found.push_back(fmt::format("{}/{} is left behind", dir, entry.name));
  }
  for (const auto& sandbox : runtime_->Sandboxes())
    if (!desired.Contains(sandbox.pod_uid))
      found.push_back(
          fmt::format("a sandbox of {} {} is left behind", sandbox.pod_name, sandbox.pod_uid));
  return found;
}

std::vector<std::string> SimNode::CheckTables() {
  bus::FakeBus reader(network_, "reader", world_);
  auto runtime = *bus::ViewOf<v1::RuntimeRecord>(reader, "runtime");
  auto podstatus = *bus::ViewOf<v1::PodStatusRecord>(reader, "podstatus");
  auto workers = *bus::ViewOf<v1::WorkerRecord>(reader, "workers");
  auto desired = *bus::ViewOf<v1::DesiredRecord>(reader, "desired");
  auto admission = *bus::ViewOf<v1::AdmissionRecord>(reader, "admission");
  // Crashing containers keep crashing, so the reports follow within the period of the relist.
  const auto end = clock_.Now() + 30s;
  Found found;
  do {
    scheduler_.Advance(100ms);
    found = CheckRuntimeTable(*runtime_, runtime);
    for (const auto& wrong :
         {CheckStatusTable(podstatus), CheckServer(podstatus), CheckRemains(desired, workers)})
      found.insert(found.end(), wrong.begin(), wrong.end());
  } while (!found.empty() && clock_.Now() < end);
  if (found.empty()) return found;
  // The reports of the other processes show where it stopped.
  const auto vouches = [&found](const char* table, const auto& view) {
    std::string scopes;
    for (const auto& scope : view.completeness().scopes) scopes += " " + scope;
    found.push_back(fmt::format("`{}` is {}, complete for{}", table,
                                view.live() ? "live" : "not live",
                                scopes.empty() ? " nothing" : scopes));
  };
  vouches("desired", desired);
  vouches("admission", admission);
  vouches("workers", workers);
  vouches("runtime", runtime);
  vouches("podstatus", podstatus);
  for (const auto& [name, process] : running_)
    if (const auto complaint = process->Complaint(); !complaint.empty())
      found.push_back(fmt::format("{}: {}", name, complaint));
  desired.ForEach([&found](const std::string& uid, const auto& r) {
    if (r == nullptr) return found.push_back("`desired` of " + uid + " is unknown");
    found.push_back(fmt::format("`desired` {} {}: {} life {}", r->name(), uid,
                                v1::DesiredRecord::State_Name(r->state()), r->incarnation()));
  });
  admission.ForEach([&found](const std::string& uid, const auto& r) {
    if (r != nullptr)
      found.push_back(fmt::format("`admission` {}: {} life {} {}", uid,
                                  v1::AdmissionRecord::Decision_Name(r->decision()),
                                  r->incarnation(), r->reason()));
  });
  workers.ForEach([&found](const std::string& uid, const auto& r) {
    if (r == nullptr) return found.push_back("`workers` of " + uid + " is unknown");
    found.push_back(fmt::format("`workers` {} {}: {} life {} granted {} {} {} {}", r->name(), uid,
                                v1::WorkerState_Name(r->state()), r->incarnation(), r->granted(),
                                r->sync_error(), r->admission_reason(), r->message()));
  });
  return found;
}

}  // namespace splitlet::simulation
