#include "services/gc/collect/containers/remover.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/cri/labels.h"
#include "libs/fs/path.h"
#include "libs/kube/pod_types.h"

namespace splitlet::gc {
namespace {

constexpr Duration kAskLimit = std::chrono::seconds{5};
/// pod-worker first lists the runtime, for at most 15 s. A longer limit here avoids a hold that no
/// caller uses.
constexpr Duration kHoldLimit = std::chrono::seconds{20};

/// A volume that hangs leaves time for the others.
constexpr Duration kTearDownLimit = std::chrono::seconds{10};

constexpr int64_t kMinGrace = 2;  // seconds
/// The part of the hold that is left for the runtime after a container's grace period.
constexpr Duration kStopMargin = std::chrono::seconds{5};

/// The time of one round for directories of earlier rounds. The strand is that of images too.
constexpr Duration kEmptyLimit = std::chrono::seconds{20};

constexpr std::string_view kNotGiven = "pod-worker did not allow the removal";

std::vector<std::string> Names(const std::vector<Removal>& removals,
                               const std::set<std::string>& refused) {
  std::vector<std::string> names;
  for (const auto& removal : removals) {
    if (!refused.contains(removal.uid)) names.push_back(removal.name);
  }
  return names;
}

/// The grace period of the pod, from the annotations of the container.
int64_t GraceOf(const cri::Container& container) {
  for (const auto key : {kube::kPodDeletionGracePeriod, kube::kPodTerminationGracePeriod}) {
    const std::string text = cri::LabelOf(container.annotations, key);
    int64_t seconds = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size())
      return std::max(seconds, kMinGrace);
  }
  return kMinGrace;
}

std::set<std::string> SetOf(std::vector<std::string> names) {
  return {std::make_move_iterator(names.begin()), std::make_move_iterator(names.end())};
}

}  // namespace

Report Remover::Describe(const RemovalPlan& plan) const {
  Report report;
  report.dry_run = true;
  report.at = deps_.clock.WallNow();
  report.kept = plan.kept;
  const auto add = [&](const char* kind, const std::vector<Removal>& removals) {
    for (const auto& removal : removals)
      report.items.push_back(
          {.kind = kind, .name = removal.name, .reason = removal.reason, .uid = removal.uid});
  };
  add("container", plan.containers);
  add("sandbox", plan.sandboxes);
  add("log-dir", plan.log_dirs);
  add("pod-dir", plan.pod_dirs);
  add("log-link", plan.links);
  return report;
}

Report Remover::Run(const RemovalPlan& plan, const Inventory& inventory) {
  report_.at = deps_.clock.WallNow();
  report_.kept = plan.kept;
  report_.blocked_pod_dirs = plan.blocked_pod_dirs;
  report_.stuck = plan.stuck;
  EmptyAside(inventory.aside);
  RemoveLinks(plan);
  AskConfigSource(plan);
  const Status held = TakeHold(plan);
  if (!held.ok()) {
    report_.error = "hold for removal: " + ToString(held);
    return std::move(report_);
  }
  if (!hold_.id.empty()) {
    RemoveContainers(plan);
    RemoveSandboxes(plan, inventory);
    RemoveDirectories(plan);
    const Status released = ReleaseHold();
    if (!released.ok()) report_.kept.push_back("release hold: " + ToString(released));
  }
  return std::move(report_);
}

void Remover::EmptyAside(const std::vector<Aside>& asides) {
  const Clock::Time end = deps_.clock.Now() + kEmptyLimit;
  for (const auto& aside : asides) {
    const Status removed = Empty(aside, end);
    if (!removed.ok()) report_.kept.push_back(fmt::format("{}: {}", aside.path, ToString(removed)));
  }
}

/// Empties the mark last: only the mark shows that the tree belongs to splitlet. At `end` the rest
/// is left to the next round.
Status Remover::Empty(const Aside& aside, Clock::Time end) {
  const Status emptied = EmptyWhile(aside, [this, end] { return deps_.clock.Now() < end; });
  if (emptied.code() != StatusCode::kAborted) return emptied;
  report_.unemptied = true;
  report_.kept.push_back(fmt::format("{}: holds more files, which go next", aside.path));
  return OkStatus();
}

Status Remover::EmptyWhile(const Aside& aside, const std::function<bool()>& go_on) {
  if (!aside.tree.empty()) {
    FAIL_POINT("gc.empty-pod-tree.before");
    RETURN_IF_ERROR(deps_.files.RemoveTreeWhile(aside.tree, go_on), "empty {}", aside.tree);
    FAIL_POINT("gc.empty-pod-tree.after");
  }
  FAIL_POINT("gc.empty-directory.before");
  RETURN_IF_ERROR(deps_.files.RemoveTreeWhile(aside.path, go_on), "empty {}", aside.path);
  FAIL_POINT("gc.empty-directory.after");
  return OkStatus();
}

void Remover::AskConfigSource(const RemovalPlan& plan) {
  std::map<std::string, std::set<std::string>> uids_of;  // by source
  for (const auto* list : {&plan.containers, &plan.sandboxes, &plan.log_dirs, &plan.pod_dirs}) {
    for (const auto& removal : *list) {
      if (removal.ask) uids_of[removal.source].insert(removal.uid);
    }
  }
  for (const auto& [source, uids] : uids_of) AskConfigSource(source, uids);
}

void Remover::AskConfigSource(const std::string& source, const std::set<std::string>& uids) {
  for (auto it = uids.begin(); it != uids.end(); ++it) {
    const auto known = deps_.desired.Knows(*it, source, After(deps_.clock, kAskLimit));
    if (known.ok() && !*known) continue;
    if (known.ok()) {
      report_.kept.push_back(fmt::format("pod {}: config-source still has the pod", *it));
      refused_uids_.insert(*it);
      continue;
    }
    // config-source does not answer for the other pods of this source either.
    report_.kept.push_back("pods without a record: cannot ask config-source: " +
                           ToString(known.status()));
    refused_uids_.insert(it, uids.end());
    return;
  }
}

Status Remover::TakeHold(const RemovalPlan& plan) {
  peers::HoldWishes wishes;
  wishes.request_id = fmt::format("gc-{}", deps_.clock.Now().monotonic.count());
  std::set<std::string> uids = SetOf(Names(plan.pod_dirs, refused_uids_));
  for (const auto& dir : plan.log_dirs) {
    if (!refused_uids_.contains(dir.uid)) uids.insert(dir.uid);
  }
  wishes.uids.assign(uids.begin(), uids.end());
  wishes.container_ids = Names(plan.containers, refused_uids_);
  wishes.sandbox_ids = Names(plan.sandboxes, refused_uids_);
  if (wishes.uids.empty() && wishes.container_ids.empty() && wishes.sandbox_ids.empty())
    return OkStatus();
  // Count from before the call, so that the hold ends here before it ends at pod-worker.
  hold_.ends = deps_.clock.Now() + kHoldUse;
  FAIL_POINT("gc.hold.before");
  auto hold = deps_.workers.HoldForRemoval(wishes, After(deps_.clock, kHoldLimit));
  FAIL_POINT("gc.hold.after");
  if (!hold.ok()) return hold.status();
  hold_.id = hold->id;
  hold_.uids = SetOf(std::move(hold->uids));
  hold_.containers = SetOf(std::move(hold->container_ids));
  hold_.sandboxes = SetOf(std::move(hold->sandbox_ids));
  hold_.stopped_sandboxes = SetOf(std::move(hold->stopped_sandbox_ids));
  return OkStatus();
}

Status Remover::ReleaseHold() {
  FAIL_POINT("gc.release-hold.before");
  RETURN_IF_ERROR(deps_.workers.ReleaseHold(hold_.id, After(deps_.clock, kAskLimit)), "pod-worker");
  FAIL_POINT("gc.release-hold.after");
  return OkStatus();
}

bool Remover::HoldIsOver() {
  if (deps_.clock.Now() < hold_.ends) return false;
  report_.error = "the hold has ended; the next round removes the rest";
  return true;
}

Deadline Remover::CallDeadline() const {
  const Clock::Time limit = deps_.clock.Now() + config_.call_limit;
  return {std::min(limit, hold_.ends)};
}

bool Remover::Record(const char* kind, const Removal& removal, const Status& status) {
  report_.items.push_back({.kind = kind,
                           .name = removal.name,
                           .reason = removal.reason,
                           .removed = status.ok(),
                           .error = status.ok() ? "" : ToString(status),
                           .uid = removal.uid});
  if (!status.ok()) failed_uids_.insert(removal.uid);
  return status.ok();
}

void Remover::Keep(const char* kind, const Removal& removal, std::string_view why) {
  failed_uids_.insert(removal.uid);
  if (!refused_uids_.contains(removal.uid))  // that reason is in the report already
    report_.kept.push_back(fmt::format("{} {}: {}", kind, removal.name, why));
}

void Remover::RemoveContainers(const RemovalPlan& plan) {
  for (const auto& removal : plan.containers) {
    if (!hold_.containers.contains(removal.name)) {
      Keep("container", removal, kNotGiven);
      continue;
    }
    if (HoldIsOver()) return;
    Record("container", removal, RemoveContainer(cri::ContainerId(removal.name)));
  }
}

/// Removes the logs first: only the container knows their path.
Status Remover::RemoveContainer(const cri::ContainerId& id) {
  const auto container = deps_.reader.ContainerStatus(id, CallDeadline());
  if (container.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(container, "status of the container");
  if (container->state == cri::ContainerState::kRunning)
    return FailedPrecondition("the container is running now");
  if (container->state == cri::ContainerState::kUnknown)
    RETURN_IF_ERROR(StopUnknown(*container), "stop the container, whose state is unknown");
  RETURN_IF_ERROR(RemoveLogs(*container), "remove logs");
  FAIL_POINT("gc.remove-container.before");
  RETURN_IF_ERROR(deps_.remover.RemoveContainer(id, CallDeadline()), "remove container");
  FAIL_POINT("gc.remove-container.after");
  return OkStatus();
}

/// The container may run. Its preStop hook does not run, and its grace period ends with the hold.
Status Remover::StopUnknown(const cri::Container& container) {
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(
      hold_.ends - deps_.clock.Now() - kStopMargin);
  if (left.count() < kMinGrace)
    return DeadlineExceeded(
        "too little of the hold is left for the grace period; the next round stops the container");
  deps_.events.Record({.reason = "Killing",
                       .message = "Container is in unknown state, try killing it before removal",
                       .name_space = cri::LabelOf(container.labels, kube::kPodNamespaceLabel),
                       .name = cri::LabelOf(container.labels, kube::kPodNameLabel),
                       .uid = cri::LabelOf(container.labels, kube::kPodUidLabel),
                       .container = container.name});
  const int64_t grace = std::min<int64_t>(GraceOf(container), left.count());
  FAIL_POINT("gc.stop-container.before");
  RETURN_IF_ERROR(deps_.stop_container(container.id, grace, CallDeadline()), "runtime");
  FAIL_POINT("gc.stop-container.after");
  return OkStatus();
}

Status Remover::RemoveLogs(const cri::Container& container) {
  if (container.log_path.empty()) return OkStatus();
  // The path comes from the runtime: remove nothing outside the log directory.
  if (!fs::IsBelow(container.log_path, config_.pod_logs_dir)) {
    report_.kept.push_back(
        fmt::format("log {}: not below {}", container.log_path, config_.pod_logs_dir));
    return OkStatus();
  }
  const std::string dir = fs::ParentOf(container.log_path);
  const std::string name = fs::NameOf(container.log_path);
  const auto entries = deps_.files.List(dir);
  if (entries.status().code() != StatusCode::kNotFound) RETURN_IF_ERROR(entries, "list {}", dir);
  if (entries.ok()) {
    for (const auto& entry : *entries) {
      // Rotated files are "<name>.<time>" and "<name>.<time>.gz".
      if (entry.name != name && !entry.name.starts_with(name + ".")) continue;
      FAIL_POINT("gc.remove-container-log.before");
      RETURN_IF_ERROR(deps_.files.Remove(dir + "/" + entry.name), "remove {}", entry.name);
      FAIL_POINT("gc.remove-container-log.after");
    }
  }
  return RemoveLinksOf(container.id);
}

Status Remover::RemoveLinksOf(const cri::ContainerId& container) {
  const auto links = deps_.files.List(config_.links_dir);
  if (links.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(links, "list {}", config_.links_dir);
  for (const auto& link : *links) {
    const std::string id = ContainerIdOfLink(link.name);
    if (id.empty() || !container.str().starts_with(id)) continue;
    RETURN_IF_ERROR(RemoveLink(config_.links_dir + "/" + link.name), "remove link");
  }
  return OkStatus();
}

void Remover::RemoveSandboxes(const RemovalPlan& plan, const Inventory& inventory) {
  std::set<std::string> occupied;
  for (const auto& container : inventory.containers) {
    const bool removed = std::ranges::any_of(report_.items, [&](const ReportItem& item) {
      return item.removed && item.name == container.id.str();
    });
    if (!removed) occupied.insert(container.sandbox_id.str());
  }
  for (const auto& removal : plan.sandboxes) {
    const bool held = hold_.sandboxes.contains(removal.name);
    if (!held || occupied.contains(removal.name)) {
      Keep("sandbox", removal, held ? "the sandbox still has containers" : kNotGiven);
      continue;
    }
    if (HoldIsOver()) return;
    Record("sandbox", removal, RemoveSandbox(cri::SandboxId(removal.name)));
  }
}

/// Stops the sandbox again unless pod-worker confirms that it is stopped: its network may not be
/// torn down completely. The confirmation spares a call of the network plugins.
Status Remover::RemoveSandbox(const cri::SandboxId& id) {
  FAIL_POINT("gc.remove-sandbox.before");
  if (!hold_.stopped_sandboxes.contains(id.str()))
    RETURN_IF_ERROR(deps_.stop_sandbox(id, CallDeadline()), "stop sandbox");
  RETURN_IF_ERROR(deps_.remover.RemovePodSandbox(id, CallDeadline()), "remove sandbox");
  FAIL_POINT("gc.remove-sandbox.after");
  return OkStatus();
}

std::string_view Remover::WhyKept(const std::string& uid) const {
  return hold_.uids.contains(uid) ? "another part of the pod could not be removed" : kNotGiven;
}

void Remover::RemoveDirectories(const RemovalPlan& plan) {
  if (!report_.error.empty()) return;
  for (const auto& removal : plan.log_dirs) {
    if (!hold_.uids.contains(removal.uid) || Refused(removal.uid)) {
      Keep("log-dir", removal, WhyKept(removal.uid));
      continue;
    }
    if (HoldIsOver()) return;
    Record("log-dir", removal, RemoveDirectory(config_.pod_logs_dir, removal.name, ""));
  }
  // Directories whose volumes must be torn down first may take long, so they come last.
  for (const bool blocked : {false, true})
    for (const auto& removal : plan.pod_dirs)
      if (removal.blocked.empty() != blocked && !RemoveOrKeep(removal)) return;
}

/// False: the hold has ended.
bool Remover::RemoveOrKeep(const Removal& removal) {
  if (!hold_.uids.contains(removal.uid) || Refused(removal.uid)) {
    Keep("pod-dir", removal, WhyKept(removal.uid));
    return true;
  }
  if (HoldIsOver()) return false;
  if (!removal.blocked.empty()) {
    if (!TearDownVolumes(removal)) return true;
    if (HoldIsOver()) return false;
  }
  Record("pod-dir", removal, RemovePodDirectory(removal));
  return true;
}

/// The end of a pod normally tears its volumes down. Two cases leave volumes: pod-worker found the
/// pod only after all its containers had ended, for example after a boot; or a container that must
/// not be stopped was still there.
bool Remover::TearDownVolumes(const Removal& removal) {
  const auto gone = AskForTearDown(removal.uid);
  std::string why = removal.blocked;
  if (gone.ok() && *gone)
    why = WhyBlocked(deps_.files, config_.pods_dir + "/" + removal.name, removal.tree).why;
  std::erase(report_.kept, OrphanText(removal.uid, removal.blocked));
  if (why.empty()) {
    --report_.blocked_pod_dirs;
    return true;
  }
  if (gone.ok() && *gone) report_.stuck[removal.uid] = why;
  if (!gone.ok()) why = fmt::format("{}: {}", why, ToString(gone.status()));
  report_.kept.push_back(OrphanText(removal.uid, why));
  failed_uids_.insert(removal.uid);
  return false;
}

StatusOr<bool> Remover::AskForTearDown(const std::string& uid) {
  const Deadline limit = {std::min(CallDeadline().at, deps_.clock.Now() + kTearDownLimit)};
  FAIL_POINT("gc.take-down-volumes.before");
  const auto gone = deps_.workers.TakeDownVolumes(uid, limit);
  FAIL_POINT("gc.take-down-volumes.after");
  return gone;
}

/// Moves the tree aside before its mark: after a crash in between, the mark leads the next round to
/// both.
Status Remover::RemovePodDirectory(const Removal& removal) {
  if (removal.tree.empty()) return RemoveDirectory(config_.pods_dir, removal.name, "");
  const std::string aside = AsideOfTree(removal.tree);
  FAIL_POINT("gc.move-pod-tree.before");
  const Status moved = deps_.files.Rename(removal.tree, aside);
  FAIL_POINT("gc.move-pod-tree.after");
  // Not found: the directory was never created after its mark, or an interrupted round moved it.
  if (moved.code() != StatusCode::kNotFound) RETURN_IF_ERROR(moved, "move aside");
  return RemoveDirectory(config_.pods_dir, removal.name, aside);
}

/// Moves the directory aside in one step under the hold. Emptying it may take longer than the hold:
/// the next round goes on.
Status Remover::RemoveDirectory(const std::string& parent, const std::string& name,
                                const std::string& tree_aside) {
  const std::string from = parent + "/" + name;
  const std::string aside =
      fmt::format("{}/{}{}-{}", parent, kAsidePrefix, deps_.clock.Now().monotonic.count(), name);
  FAIL_POINT("gc.remove-directory.before");
  RETURN_IF_ERROR(deps_.files.Rename(from, aside), "move aside");
  FAIL_POINT("gc.remove-directory.after-rename");
  RETURN_IF_ERROR(Empty({aside, tree_aside}, hold_.ends), "empty");
  FAIL_POINT("gc.remove-directory.after");
  return OkStatus();
}

void Remover::RemoveLinks(const RemovalPlan& plan) {
  for (const auto& removal : plan.links) Record("log-link", removal, RemoveLink(removal.name));
}

Status Remover::RemoveLink(const std::string& path) {
  FAIL_POINT("gc.remove-link.before");
  RETURN_IF_ERROR(deps_.files.Remove(path), "{}", path);
  FAIL_POINT("gc.remove-link.after");
  return OkStatus();
}

}  // namespace splitlet::gc
