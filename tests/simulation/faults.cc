// Faults of a simulated node: manifests are added and removed, processes die, the bus and the
// runtime misbehave.

#include <cerrno>

#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_sorts.h"
#include "tests/simulation/pod_truth.h"
#include "tests/simulation/shell.h"
#include "tests/simulation/volume_truth.h"

namespace splitlet::simulation {
namespace {

constexpr int kNames = 8;

/// Pods with a host port, and pods that need more than half of the node: one name for each, always
/// the same.
std::string RoomOf(const std::string& name) {
  if (name == "p0") return "    ports: [{containerPort: 80, hostPort: 8080}]\n";
  if (SortOf(name).limits)
    return "    resources: {requests: {cpu: 250m}, limits: {cpu: 500m, memory: 128Mi}}\n";
  if (name == "p1") return "    resources: {requests: {cpu: 2500m}}\n";
  return "";
}

std::string ProbeOf(const std::string& name) {
  return fmt::format("    readinessProbe: {{httpGet: {{path: /{}, port: 80}}, periodSeconds: 5}}\n",
                     name);
}

/// Commands that hooks.cc knows.
constexpr const char* kHooks =
    "    lifecycle: {postStart: {exec: {command: [post-start]}}, "
    "preStop: {exec: {command: [pre-stop]}}}\n";

/// Goes through a runtime that pulls.
constexpr const char* kNoRoomForImage =
    "failed to pull and unpack image: failed to copy: write: no space left on device";

/// Two images, so that pods wait for the same pull, also after an edit.
std::string ImageOf(const std::string& name, int version) {
  const PodSort sort = SortOf(name);
  if (!sort.pulls) return "    image: busybox:1\n";
  return fmt::format("    image: app:{}\n    imagePullPolicy: {}\n", version % 2,
                     sort.pulls_always ? "Always" : "IfNotPresent");
}

constexpr const char* kMounts =
    "    volumeMounts: [{name: scratch, mountPath: /scratch}, {name: about, mountPath: /about}, "
    "{name: memory, mountPath: /memory}, {name: all, mountPath: /all}, "
    "{name: scratch, mountPath: /part, subPath: part}]\n";
/// Contents that volume_truth.h expects.
constexpr const char* kVolumes =
    "  volumes:\n  - {name: scratch, emptyDir: {}}\n"
    "  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}\n"
    "  - {name: about, downwardAPI: {items: ["
    "{path: a, fieldRef: {fieldPath: \"metadata.labels['turn']\"}}, "
    "{path: b, fieldRef: {fieldPath: \"metadata.labels['turn']\"}}]}}\n"
    "  - {name: all, projected: {sources: [{downwardAPI: {items: ["
    "{path: a, fieldRef: {fieldPath: \"metadata.labels['turn']\"}}]}}, {downwardAPI: {items: ["
    "{path: b, fieldRef: {fieldPath: \"metadata.labels['turn']\"}}]}}]}}\n";

std::string PriorityOf(const std::string& name) {
  const int32_t priority = SortOf(name).priority;
  if (priority == kNodeCritical) return "  priorityClassName: system-node-critical\n";
  return priority == 0 ? "" : fmt::format("  priority: {}\n", priority);
}

std::string ManifestPathOf(const std::string& name) { return "/manifests/" + name + ".yaml"; }

}  // namespace

const char* ContainerOf(SimNode::Wanted::Kind kind) {
  using enum SimNode::Wanted::Kind;
  switch (kind) {
    case kSteady: return "steady";
    case kCrashing: return "crashing";
    case kJob: return "job";
    case kOnce: return "once";
  }
  UNREACHABLE();
}

void SimNode::PutManifest(const std::string& name) {
  const Wanted& wanted = wanted_.at(name);
  const char* policy = wanted.kind == Wanted::Kind::kJob    ? "OnFailure"
                       : wanted.kind == Wanted::Kind::kOnce ? "Never"
                                                            : "Always";
  const bool volumes = SortOf(name).volumes;
  std::string yaml = fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}, labels: {{turn: \"{1}\"}}}}\nspec:\n"
      "  restartPolicy: {2}\n  terminationGracePeriodSeconds: 5\n{3}{4}",
      name, wanted.version, policy, PriorityOf(name), volumes ? kVolumes : "");
  yaml += fmt::format(
      "  containers:\n  - name: {}\n    command: [\"run\", \"version-{}\"]\n{}{}{}{}",
      ContainerOf(wanted.kind), wanted.version, ImageOf(name, wanted.version), wanted.room,
      volumes ? kMounts : "", wanted.kind == Wanted::Kind::kSteady ? ProbeOf(name) + kHooks : "");
  CHECK(files_.Replace(ManifestPathOf(name), yaml, {}).ok());
}

void SimNode::PutStrayFile() {
  CHECK(files_.Replace("/manifests/README", "what is in this directory", {}).ok());
}

void SimNode::BreakManifest(const std::string& name) {
  if (wanted_.at(name).away) return;
  CHECK(files_.Replace(ManifestPathOf(name), "kind: Pod\nmetadata: {name: ", {}).ok());
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(40)), [this, name] {
    const auto found = wanted_.find(name);
    if (found != wanted_.end() && !found->second.away) PutManifest(name);
  });
}

void SimNode::MoveManifest(const std::string& name) {
  Wanted& wanted = wanted_.at(name);
  if (wanted.away) return;
  wanted.away = wanted.touched = true;
  CHECK(files_.Remove(ManifestPathOf(name)).ok());
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(90)), [this, name] {
    const auto found = wanted_.find(name);
    if (found == wanted_.end() || !found->second.away) return;
    found->second.away = false;
    PutManifest(name);
  });
}

void SimNode::LoseContainer() {
  if (wanted_.empty()) return;
  auto it = wanted_.begin();
  std::advance(it, static_cast<long>(random_.Below(wanted_.size())));
  auto& [name, wanted] = *it;
  const bool steady = wanted.kind == Wanted::Kind::kSteady;
  if (!steady && wanted.kind != Wanted::Kind::kOnce) return;
  WatchRuns();
  for (const auto& container : runtime_->Containers())
    if (container.name == "once" && container.started_at_ns == 0 &&
        container.labels.at("io.kubernetes.pod.name").starts_with(name + "-"))
      maybe_ran_.insert(LifeOf(container));
  wanted.touched = true;
  wanted.lost = runtime_->Vanish(name, ContainerOf(wanted.kind)).ok() || wanted.lost;
}

SimNode::LifeOfPod SimNode::LifeOf(const cri::Container& container) {
  return {container.labels.at("io.kubernetes.pod.uid"),
          container.annotations.at("splitlet.dev/incarnation")};
}

void SimNode::WatchRuns() {
  for (const auto& container : runtime_->Containers()) {
    if (container.name != "once" || container.started_at_ns == 0) continue;
    const LifeOfPod life = LifeOf(container);
    const auto [first, fresh] = runs_.try_emplace(life, container.id.str());
    if (first->second != container.id.str())
      Report(fmt::format("pod {} ran twice in its life {}", life.first, life.second));
  }
  WatchVolumes();
  if (api_ != nullptr) api_->WatchRuntime();
}

void SimNode::ChangeManifests(const FaultPlan& plan) {
  const std::string name = fmt::format("p{}", random_.Below(kNames));
  const auto found = wanted_.find(name);
  if (found == wanted_.end()) {
    const auto kind = Chance(0.6)   ? Wanted::Kind::kSteady
                      : Chance(0.4) ? Wanted::Kind::kCrashing
                      : Chance(0.5) ? Wanted::Kind::kJob
                                    : Wanted::Kind::kOnce;
    // A name that was used before may still have old containers.
    wanted_[name] = {.kind = kind,
                     .version = static_cast<int>(random_.Below(1000)),
                     .touched = !names_used_.insert(name).second,
                     .room = RoomOf(name)};
    PutManifest(name);
  } else if (plan.break_manifests && Chance(0.3)) {
    BreakManifest(name);
  } else if (plan.move_manifests && Chance(0.3)) {
    MoveManifest(name);
  } else if (Chance(0.3)) {
    found->second.version = static_cast<int>(random_.Below(1000));
    found->second.touched = true;
    found->second.away = found->second.down = false;
    PutManifest(name);
  } else if (Chance(0.3)) {
    if (!found->second.away) CHECK(files_.Remove(ManifestPathOf(name)).ok());
    wanted_.erase(found);
  }
}

void SimNode::Disturb(const FaultPlan& plan) {
  if (plan.crash_processes && Chance(0.1)) Kill(AnyProcess());
  if (plan.crash_at_fail_points && Chance(0.1)) ArmFailPoint();
  if (plan.pause_processes && Chance(0.03)) PauseOne();
  if (plan.disturb_bus && Chance(0.05)) DisturbBus();
  if (plan.disturb_runtime && Chance(0.05)) DisturbRuntime();
  if (plan.disturb_files && Chance(0.02)) DisturbFiles();
  if (plan.restart_runtime && Chance(pulls_under_way_ > 0 ? 0.1 : 0.01)) RestartRuntime();
  if (plan.fill_disk && Chance(0.03)) FillDisk();
  if (plan.lose_containers && Chance(0.05)) LoseContainer();
  if (plan.step_clock && Chance(0.03))
    clock_.SetWall(clock_.WallNow() + Duration{1h} * (static_cast<int64_t>(random_.Below(13)) - 6));
  if (api_ != nullptr && plan.disturb_server) {
    if (Chance(0.05)) api_->Disturb();
    // status registers the node once in each start, so after a deletion of the node status is
    // restarted.
    if (Chance(0.05) && !api_->server().Has("/api/v1/nodes/sim")) Kill("status");
  }
  WatchRuns();
}

/// A start reads the records, so a process is restarted.
void SimNode::DisturbFiles() {
  files_unreadable_ = true;
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(10)),
                  [this] { files_unreadable_ = false; });
  Kill(AnyProcess());
}

void SimNode::RestartRuntime() {
  runtime_->SetDown(true);
  world_.RunAfter(100ms * static_cast<int64_t>(1 + random_.Below(50)),
                  [this] { runtime_->SetDown(false); });
}

/// Some files are still written, so that a volume stops in the middle.
void SimNode::FillDisk() {
  room_ = static_cast<int>(random_.Below(12));
  cri::Fault fault;
  fault.method = "PullImage";
  fault.code = StatusCode::kUnknown;
  fault.message = kNoRoomForImage;
  const int full = runtime_->AddFault(fault);
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(40)), [this, full] {
    room_.reset();
    runtime_->RemoveFault(full);
  });
}

Status SimNode::OnFile(std::string_view operation, const std::string& path) {
  const bool memory = path.starts_with("/state/") || path.starts_with("/run/");
  if (files_unreadable_ && operation == "read" && memory && Chance(0.5)) return ErrnoStatus(EMFILE);
  if (!room_ || !path.starts_with(kPodDirs)) return OkStatus();
  const bool grows = operation == "replace" || operation == "make-symlink" ||
                     (operation == "make-dirs" && !files_.Stat(path, true).ok());
  if (!grows) return OkStatus();
  if (*room_ > 0) {
    --*room_;
    return OkStatus();
  }
  if (path.find("/volumes/") != std::string::npos) {
    ++lack_counts_.full_for_volumes;
    lacked_room_.insert(UidOfPath(path));
  }
  return ErrnoStatus(ENOSPC);
}

void SimNode::OnPulled(const Status& status) {
  --pulls_under_way_;
  if (status.code() == StatusCode::kUnavailable &&
      status.message().find("while it pulled") != std::string_view::npos)
    ++lack_counts_.lost_pulls;
  if (status.message().find(kNoRoomForImage) != std::string_view::npos)
    ++lack_counts_.full_for_pulls;
}

void SimNode::ArmFailPoint() {
  const auto found = running_.find(AnyProcess());
  if (found == running_.end()) return;
  FailPoints& points = found->second->shell().fail_points;
  std::vector<std::string> own;
  for (const auto& info : points.List())
    if (info.name.starts_with(found->first + ".") ||
        (api_ != nullptr && info.name.starts_with("apiclient.")))
      own.push_back(info.name);
  if (!own.empty()) CHECK(points.Set(own[random_.Below(own.size())], "1*crash").ok());
}

void SimNode::PauseOne() {
  const auto found = running_.find(AnyProcess());
  if (found == running_.end()) return;
  const auto owner = found->second->shell().owner;
  scheduler_.Pause(owner);
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(60)),
                  [this, owner] { scheduler_.Resume(owner); });
}

void SimNode::DisturbBus() {
  network_.SetFaults({.lose = 0.2 * random_.Unit(),
                      .twice = 0.2 * random_.Unit(),
                      .delay = 0.2 * random_.Unit(),
                      .overtake = 0.2 * random_.Unit(),
                      .max_delay = Duration{1ms} * static_cast<int64_t>(random_.Below(3000)),
                      .fail_list = 0.1 * random_.Unit(),
                      .latency = Duration{0}});
  if (Chance(0.3)) network_.SetUp(false);
  if (Chance(0.3)) network_.SetConnected(AnyProcess(), false);
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(30)), [this] {
    network_.SetFaults({});
    network_.SetUp(true);
    for (const auto& [name, maker] : makers_) network_.SetConnected(name, true);
  });
}

void SimNode::DisturbRuntime() {
  disturb_runtime_ = true;
  runtime_failures_ = 0.3 * random_.Unit();
  runtime_slow_ = Chance(0.3);
  const bool down = Chance(0.2);
  if (down) runtime_->SetDown(true);
  std::vector<int> faults;
  for (const char* method : {"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer"})
    if (Chance(0.3)) {
      cri::Fault fault;
      fault.method = method;
      fault.kind = cri::Fault::Kind::kLoseResponse;
      fault.times = 2;
      faults.push_back(runtime_->AddFault(fault));
    }
  world_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(20)), [this, faults] {
    disturb_runtime_ = false;
    runtime_failures_ = 0;
    runtime_slow_ = false;
    runtime_->SetDown(false);
    for (const int fault : faults) runtime_->RemoveFault(fault);
  });
}

}  // namespace splitlet::simulation
