#include "services/gc/collect/containers/removal_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"

namespace splitlet::gc {
namespace {

std::string UidOf(const cri::Container& container) {
  return cri::LabelOf(container.labels, kube::kPodUidLabel);
}

const char* ReasonOf(RemovalScope scope) {
  switch (scope) {
    case RemovalScope::kRuntimeOnly: return "the pod is finished and the node is short of disk";
    case RemovalScope::kKeepDirectory: return "evicted pod";
    case RemovalScope::kEverything: return "pod is gone";
    case RemovalScope::kUnknown:
    case RemovalScope::kUnmanaged:
    case RemovalScope::kWanted: break;  // nothing is removed for this scope
  }
  UNREACHABLE();
}

class Planner {
 public:
  Planner(const Inventory& inventory, const ScopeOf& scope_of, const GcConfig& config, WallTime now)
      : inventory_(inventory), scope_of_(scope_of), config_(config), now_(now) {
    for (const auto& dir : inventory.pod_dirs)
      traces_[dir.uid] = {.ours = true, .source = dir.source};
    for (const auto& sandbox : inventory.sandboxes) {
      PodTraces& pod = traces_[sandbox.pod_uid];
      if (cri::LabelOf(sandbox.annotations, kube::kNodeAnnotation)
              .starts_with(config.state_id + "/"))
        pod.ours = true;
      if (pod.source.empty()) pod.source = cri::LabelOf(sandbox.annotations, kube::kConfigSource);
    }
  }

  RemovalPlan Plan() {
    PlanContainers();
    PlanSandboxes();
    PlanLogDirs();
    PlanPodDirs();
    PlanLinks();
    ReportKeptPods();
    return std::move(plan_);
  }

 private:
  using Unit = std::vector<const cri::Container*>;  // newest first

  const Scope& ScopeFor(const std::string& uid) {
    const auto it = scopes_.find(uid);
    if (it != scopes_.end()) return it->second;
    // A container without a UID was not created for a pod, so it is unmanaged.
    const Scope scope =
        uid.empty() ? Scope{RemovalScope::kUnmanaged} : scope_of_(uid, traces_[uid]);
    return scopes_.emplace(uid, scope).first->second;
  }
  static bool MayDropLogs(const Scope& scope) {
    return scope.scope == RemovalScope::kKeepDirectory || scope.scope == RemovalScope::kEverything;
  }
  /// The containers and sandboxes of the pod may be removed.
  static bool MayEmpty(const Scope& scope) {
    return scope.scope == RemovalScope::kRuntimeOnly || MayDropLogs(scope);
  }
  static bool Untouchable(const Scope& scope) {
    return scope.scope == RemovalScope::kUnknown || scope.scope == RemovalScope::kUnmanaged;
  }

  Removal Entry(const std::string& name, const std::string& uid, const std::string& reason) {
    return {.name = name,
            .uid = uid,
            .reason = reason,
            .ask = ScopeFor(uid).by_absence,
            .source = traces_[uid].source};
  }

  bool IsCandidate(const cri::Container& container) {
    const Scope& scope = ScopeFor(UidOf(container));
    if (Untouchable(scope)) return false;
    const auto age = std::max(Duration{0}, now_ - WallFromNanos(container.created_at_ns));
    if (age < config_.min_age) return false;
    if (container.state == cri::ContainerState::kExited) return true;
    // A created container is about to start, unless its pod has ended.
    if (container.state == cri::ContainerState::kCreated) return MayEmpty(scope);
    return container.state == cri::ContainerState::kUnknown && MayStop(container, scope);
  }

  /// A container in unknown state may run. For a pod without a record it is stopped only after two
  /// rounds in this state, as an unknown pod itself would be.
  bool MayStop(const cri::Container& container, const Scope& scope) {
    if (!scope.unrecorded) return true;
    plan_.unknown.insert(container.id.str());
    if (inventory_.unknown_before.contains(container.id.str())) return true;
    plan_.kept.push_back(fmt::format("container {}: the state is unknown; waiting one more round",
                                     container.id.str()));
    return false;
  }

  void PlanContainers() {
    std::map<std::pair<std::string, std::string>, Unit> units;
    for (const auto& container : inventory_.containers) {
      if (IsCandidate(container)) units[{UidOf(container), container.name}].push_back(&container);
    }
    size_t left = 0;
    size_t wanted_units = 0;
    for (auto& [key, unit] : units) {
      std::ranges::sort(unit, [](const auto* a, const auto* b) { return cri::IsNewer(*a, *b); });
      const Scope& scope = ScopeFor(key.first);
      if (MayEmpty(scope)) {
        Cut(unit, 0, ReasonOf(scope.scope));
        continue;
      }
      // The newest dead container shows how the container ended, so an unfinished pod keeps it.
      if (config_.max_per_container >= 0)
        Cut(unit, static_cast<size_t>(std::max(1, config_.max_per_container)),
            "newer dead containers are kept");
      left += unit.size();
      ++wanted_units;
    }
    if (config_.max_total >= 0 && left > static_cast<size_t>(config_.max_total)) {
      const size_t each =
          std::max<size_t>(1, static_cast<size_t>(config_.max_total) / wanted_units);
      for (auto& [key, unit] : units) Cut(unit, each, "too many dead containers");
    }
  }

  /// Removes the oldest first. When some containers stay, the newest dead one also stays, even
  /// behind containers in unknown state.
  void Cut(Unit& unit, size_t keep, const std::string& reason) {
    const auto dead = [](const cri::Container* container) {
      return container->state != cri::ContainerState::kUnknown;
    };
    const auto newest_dead = std::ranges::find_if(unit, dead);
    const cri::Container* last_end = keep > 0 && newest_dead != unit.end() ? *newest_dead : nullptr;
    for (size_t i = unit.size(); i > keep; --i) {
      const cri::Container& oldest = *unit[i - 1];
      if (&oldest == last_end) continue;
      unit.erase(unit.begin() + static_cast<ptrdiff_t>(i) - 1);
      planned_.insert(oldest.id.str());
      plan_.containers.push_back(Entry(oldest.id.str(), UidOf(oldest), reason));
    }
  }

  bool IsInUse(const cri::Sandbox& sandbox) const {
    if (sandbox.state == cri::SandboxState::kReady) return true;
    return std::ranges::any_of(inventory_.containers, [&](const cri::Container& container) {
      return container.sandbox_id == sandbox.id && !planned_.contains(container.id.str());
    });
  }

  void PlanSandboxes() {
    std::map<std::string, std::vector<const cri::Sandbox*>> pods;
    for (const auto& sandbox : inventory_.sandboxes) pods[sandbox.pod_uid].push_back(&sandbox);
    for (auto& [uid, sandboxes] : pods) {
      const Scope& scope = ScopeFor(uid);
      if (Untouchable(scope)) continue;
      std::ranges::sort(sandboxes,
                        [](const auto* a, const auto* b) { return cri::IsNewer(*a, *b); });
      const size_t keep = MayEmpty(scope) ? 0 : 1;
      for (size_t i = keep; i < sandboxes.size(); ++i) {
        if (IsInUse(*sandboxes[i])) continue;
        planned_.insert(sandboxes[i]->id.str());
        plan_.sandboxes.push_back(
            Entry(sandboxes[i]->id.str(), uid,
                  MayEmpty(scope) ? ReasonOf(scope.scope) : "a newer sandbox is kept"));
      }
    }
  }

  /// The plan leaves nothing of the pod in the runtime.
  bool LeavesRuntime(const std::string& uid) const {
    const auto stays = [this](const std::string& id) { return !planned_.contains(id); };
    return std::ranges::none_of(
               inventory_.containers,
               [&](const auto& c) { return UidOf(c) == uid && stays(c.id.str()); }) &&
           std::ranges::none_of(inventory_.sandboxes, [&](const auto& s) {
             return s.pod_uid == uid && stays(s.id.str());
           });
  }

  void PlanLogDirs() {
    for (const auto& dir : inventory_.log_dirs) {
      const Scope& scope = ScopeFor(dir.uid);
      if (!MayDropLogs(scope) || !LeavesRuntime(dir.uid)) continue;
      plan_.log_dirs.push_back(Entry(dir.name, dir.uid, ReasonOf(scope.scope)));
    }
  }

  /// Nothing has changed since pod-worker tore down the volumes that it could.
  bool IsStuck(const PodDirectory& dir) {
    const auto before = inventory_.stuck_before.find(dir.uid);
    if (before == inventory_.stuck_before.end() || before->second != dir.blocked) return false;
    plan_.stuck.insert(*before);
    return true;
  }

  /// The pod's directory goes last: its mark shows that the logs belong to a pod of splitlet.
  void PlanPodDirs() {
    for (const auto& dir : inventory_.pod_dirs) {
      const Scope& scope = ScopeFor(dir.uid);
      if (scope.scope != RemovalScope::kEverything || !LeavesRuntime(dir.uid)) continue;
      if (!dir.blocked.empty()) {
        ++plan_.blocked_pod_dirs;
        plan_.kept.push_back(OrphanText(dir.uid, dir.blocked));
        if (!dir.by_volumes || IsStuck(dir)) continue;
      }
      plan_.pod_dirs.push_back(Entry(dir.uid, dir.uid, ReasonOf(scope.scope)));
      plan_.pod_dirs.back().tree = dir.tree;
      plan_.pod_dirs.back().blocked = dir.blocked;
    }
  }

  void PlanLinks() {
    for (const auto& link : inventory_.links) {
      const auto it =
          std::ranges::find_if(inventory_.containers, [&](const cri::Container& container) {
            return !link.container_id.empty() && container.id.str().starts_with(link.container_id);
          });
      // During a rotation the log of a running container has no file for a moment.
      const bool alive =
          it != inventory_.containers.end() && it->state != cri::ContainerState::kExited;
      if (!alive)
        plan_.links.push_back({.name = link.path, .reason = "the log that the link names is gone"});
    }
  }

  void ReportKeptPods() {
    for (const auto& [uid, scope] : scopes_) {
      if (uid.empty()) continue;
      if (scope.scope == RemovalScope::kUnknown)
        plan_.kept.push_back(fmt::format("pod {}: a record of the pod cannot be read", uid));
      if (scope.scope != RemovalScope::kUnmanaged) continue;
      plan_.kept.push_back(fmt::format("pod {}: unmanaged, splitlet did not create it", uid));
      plan_.unmanaged_pods += LeavesRuntime(uid) ? 0 : 1;
    }
  }

  const Inventory& inventory_;
  const ScopeOf& scope_of_;
  const GcConfig& config_;
  const WallTime now_;
  std::map<std::string, PodTraces> traces_;  // by UID
  std::map<std::string, Scope> scopes_;
  std::set<std::string> planned_;  // ids of containers and sandboxes that go
  RemovalPlan plan_;
};

}  // namespace

std::string OrphanText(const std::string& uid, const std::string& why) {
  return fmt::format("orphaned pod \"{}\" found, but {}", uid, why);
}

RemovalPlan ComputeRemovals(const Inventory& inventory, const ScopeOf& scope_of,
                            const GcConfig& config, WallTime now) {
  return Planner(inventory, scope_of, config, now).Plan();
}

}  // namespace splitlet::gc
