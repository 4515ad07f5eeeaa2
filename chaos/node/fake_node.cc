#include "chaos/node/fake_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::chaos {
namespace {

constexpr Duration kStartTakes = 400ms, kRunsFor = 3s, kStopTakes = 200ms;

Duration GraceOf(const PodTemplate& pod) {
  return Duration{1s} * pod.pod->spec().termination_grace_period_seconds();
}

}  // namespace

Status FakeNode::CanDo(const Action& action) {
  if (cannot == action.kind) return FailedPrecondition("it cannot be done here");
  return OkStatus();
}

Status FakeNode::PutPod(const PodToRun& pod) {
  Advance();
  if (pod.from->api && ServerAway()) return Unavailable("the API server is away");
  if (pod.from->api && std::ranges::any_of(incarnations_, [&pod](const Incarnation& i) {
        return i.pod.name == pod.name;
      }))
    return AlreadyExists("{}", pod.name);
  ++puts;
  for (Incarnation& incarnation : incarnations_) {
    if (incarnation.pod.name != pod.name || incarnation.removed) continue;
    if (pod.from->same_uid) {
      incarnation.pod = pod;
      return OkStatus();
    }
    incarnation.removed = clock_.Now();
    if (incarnation.running) Terminate(incarnation);
  }
  if (bug_ == Bug::kNeverStarts && WorkerAway()) return OkStatus();
  incarnations_.push_back({.pod = pod,
                           .uid = pod.from->same_uid
                                      ? "uid-" + pod.name
                                      : fmt::format("uid-{}-{}", pod.name, pod.version),
                           .containers = {},
                           .removed = std::nullopt,
                           .due = clock_.Now() + kStartTakes,
                           .extra = {},
                           .started = std::nullopt});
  if (bug_ == Bug::kEndedForEver && pod.from->same_uid && ended_names_.contains(pod.name))
    incarnations_.back().containers.push_back(fmt::format("c{}", ++last_id_));
  return OkStatus();
}

Status FakeNode::RemovePod(const std::string& name) {
  Advance();
  for (Incarnation& incarnation : incarnations_) {
    if (incarnation.pod.name != name || incarnation.removed) continue;
    if (incarnation.pod.from->api && ServerAway()) return Unavailable("the API server is away");
    if (misses_removals && incarnation.pod.from->same_uid) continue;
    incarnation.removed = clock_.Now();
    if (bug_ == Bug::kForgetsRemoval && WorkerAway()) incarnation.lost = true;
    if (incarnation.running) Terminate(incarnation);
  }
  return OkStatus();
}

void FakeNode::Start(Incarnation& incarnation) {
  if (first_start_fails && incarnation.containers.empty()) {
    incarnation.containers.push_back(fmt::format("c{}", ++last_id_));
    never_ran_.insert(incarnation.containers.back());
    if (incarnation.pod.from->ends == Ends::kSucceeds) return;  // the pod may not run a second time
    ++incarnation.restarts;
  }
  incarnation.containers.push_back(fmt::format("c{}", ++last_id_));
  incarnation.running = true;
  incarnation.started = clock_.WallNow();
  incarnation.due = clock_.Now() + kRunsFor;
  auto& witness = witnesses_[incarnation.pod.witness];
  witness.starts.push_back(clock_.WallNow());
  if (incarnation.pod.from->hooked && bug_ != Bug::kNeverHooks) ++witness.post_starts;
}

void FakeNode::Terminate(const Incarnation& incarnation) {
  auto& witness = witnesses_[incarnation.pod.witness];
  witness.terms.push_back(clock_.WallNow());
  if (incarnation.pod.from->hooked && bug_ != Bug::kNeverHooks) ++witness.pre_stops;
}

void FakeNode::Stop(Incarnation& incarnation, WallTime at) {
  if (incarnation.running) ends_[incarnation.containers.back()] = at;
  incarnation.running = false;
}

void FakeNode::AdvanceIncarnation(Incarnation& incarnation) {
  const Clock::Time now = clock_.Now();
  const Ends ends = incarnation.pod.from->ends;
  if (WorkerAway() || incarnation.lost) return;
  if (incarnation.removed && incarnation.pod.from->forced && bug_ == Bug::kForgetsForced) return;
  if (incarnation.removed) {
    Duration takes =
        incarnation.pod.from->ignores_term ? GraceOf(*incarnation.pod.from) : kStopTakes;
    if (bug_ == Bug::kKillsAtOnce) takes = kStopTakes;
    if (!incarnation.running || now >= *incarnation.removed + takes) {
      Stop(incarnation, clock_.WallNow() - (now - (*incarnation.removed + takes)));
      incarnation.over = true;
      incarnation.lost = false;
    }
    return;
  }
  if (now < incarnation.due) return;
  const bool first = incarnation.containers.empty();
  if (first && bug_ != Bug::kIgnoresRoom && !HasRoom(incarnation)) return;
  if (!incarnation.running && (first || ends == Ends::kRestarts)) {
    incarnation.restarts += first ? 0 : 1;
    return Start(incarnation);
  }
  if (incarnation.running && ends != Ends::kRuns) {
    Stop(incarnation, clock_.WallNow());
    incarnation.due = now + kStartTakes;
  }
}

void FakeNode::Advance() {
  for (size_t i = 0; i < incarnations_.size(); ++i) {
    // A new incarnation of the name waits until the earlier one has ended.
    const bool waits =
        std::any_of(incarnations_.begin(), incarnations_.begin() + static_cast<ptrdiff_t>(i),
                    [&](const Incarnation& l) { return l.pod.name == incarnations_[i].pod.name; });
    if (!waits || bug_ == Bug::kTwoUids) AdvanceIncarnation(incarnations_[i]);
  }
  for (const Incarnation& incarnation : incarnations_) {
    if (!incarnation.over) continue;
    if (bug_ == Bug::kLeaksMount) host_resources_.insert("mount /pods/" + incarnation.uid);
    if (bug_ == Bug::kKeepsStatus) kept_.push_back(ReportedOf(incarnation));
    if (bug_ == Bug::kKeepsObject) kept_there_.push_back(ServedOf(incarnation));
    if (bug_ == Bug::kResurrects && incarnation.pod.from->api)
      undead_.push_back({.id = fmt::format("u{}", ++last_id_),
                         .sandbox = "s" + incarnation.uid,
                         .pod = FullName(incarnation.pod.name),
                         .uid = incarnation.uid,
                         .name = "app",
                         .state = SeenContainer::State::kExited});
  }
  for (const Incarnation& incarnation : incarnations_)
    if (incarnation.over) ended_names_.insert(incarnation.pod.name);
  std::erase_if(incarnations_, [](const Incarnation& incarnation) { return incarnation.over; });
}

bool FakeNode::HasRoom(const Incarnation& incarnation) const {
  int percent = incarnation.pod.from->cpu_percent;
  for (const Incarnation& other : incarnations_) {
    if (!other.running) continue;
    percent += other.pod.from->cpu_percent;
    const int port = other.pod.from->host_port;
    if (port != 0 && port == incarnation.pod.from->host_port) return false;
  }
  return percent <= 100;
}

void FakeNode::RemoveContainer(Incarnation& incarnation) {
  if (incarnation.containers.empty()) return;
  gone_.insert(incarnation.containers.back());
  const bool again = incarnation.pod.from->ends == Ends::kRuns || bug_ == Bug::kRerunsWhatIsGone;
  Stop(incarnation, clock_.WallNow());
  if (!again) return;
  ++incarnation.restarts;
  Start(incarnation);
}

void FakeNode::AddSidecars(const Incarnation& incarnation, Snapshot& snapshot) {
  if (!incarnation.started) return;
  const bool late = bug_ == Bug::kSidecarsLate;
  const bool ends_first = bug_ == Bug::kSidecarsEndFirst && incarnation.removed.has_value();
  for (int i = 0; i < incarnation.pod.from->sidecars; ++i) {
    const auto id = fmt::format("{}-side-{}", incarnation.uid, i);
    const bool running = incarnation.running && !ends_first;
    if (!running) ends_[id] = clock_.WallNow();
    snapshot.containers.push_back(
        {.id = id,
         .sandbox = "s" + incarnation.uid,
         .pod = FullName(incarnation.pod.name),
         .uid = incarnation.uid,
         .name = fmt::format("side-{}", i),
         .state = running ? SeenContainer::State::kRunning : SeenContainer::State::kExited,
         .started = *incarnation.started + (late ? 100ms : -1s)});
  }
}

void FakeNode::OnWorkerKilled() {
  for (Incarnation& incarnation : incarnations_) {
    incarnation.unready = bug_ == Bug::kUnreadyOnKill;
    if (incarnation.removed) {
      if (bug_ == Bug::kHooksAgain) ++witnesses_[incarnation.pod.witness].hooks_again;
      if (bug_ == Bug::kGraceStartsAgain) incarnation.removed = clock_.Now();
      continue;
    }
    if (bug_ == Bug::kDoublesOnKill && incarnation.running)
      incarnation.extra.push_back(fmt::format("x{}", ++last_id_));
    if (bug_ == Bug::kSecondSandbox) incarnation.second_sandbox = true;
    const bool ended = !incarnation.running && !incarnation.containers.empty();
    if ((bug_ == Bug::kRerunsOnKill || bug_ == Bug::kRevives) && ended) Start(incarnation);
    if (bug_ == Bug::kRestartsOnKill && incarnation.running &&
        incarnation.pod.from->ends == Ends::kRuns) {
      Stop(incarnation, clock_.WallNow());
      ++incarnation.restarts;
      Start(incarnation);
    }
  }
}

std::set<std::string> FakeNode::RemoveRuntimeLeaks(const std::set<std::string>& resources) {
  std::set<std::string> leaks;
  for (const auto& resource : resources)
    if (resource.starts_with("task ")) leaks.insert(resource);
  for (const auto& resource : leaks) host_resources_.erase(resource);
  return leaks;
}

Status FakeNode::Begin(const Action& action) {
  clock_.Advance(begin_takes);
  Advance();
  if (action.lasting > Duration{0}) open_faults.insert(KeyOf(action));
  if (action.kind == FaultKind::kKill || action.kind == FaultKind::kRestart) {
    pids_[action.target] = ++last_pid_;
    if (bug_ == Bug::kStaysDead) dead_.insert(action.target);
    if (bug_ == Bug::kRevivesThere && action.target == "status") revives_ = true;
    if (action.target == "pod-worker")
      for (auto& undead : undead_) undead.state = SeenContainer::State::kRunning;
    if (action.target == "pod-worker") OnWorkerKilled();
    if (action.target == "containerd" && bug_ == Bug::kForgetsTasks)
      host_resources_.insert(fmt::format("task {}", ++last_id_));
  }
  if (action.kind == FaultKind::kDown || action.kind == FaultKind::kPause)
    away_.insert(action.target);
  if (action.kind == FaultKind::kTakePort) dead_.insert(action.target);
  if (action.kind == FaultKind::kBreakManifest && bug_ == Bug::kBrokenKillsPod)
    for (Incarnation& incarnation : incarnations_)
      if (incarnation.pod.name == action.target && incarnation.running)
        Stop(incarnation, clock_.WallNow());
  if (action.kind == FaultKind::kRemoveContainer)
    for (Incarnation& incarnation : incarnations_)
      if (incarnation.pod.name == action.target && !incarnation.removed)
        RemoveContainer(incarnation);
  if (action.kind == FaultKind::kEndContainer)
    for (Incarnation& incarnation : incarnations_)
      if (incarnation.pod.name == action.target && incarnation.running &&
          incarnation.pod.from->ends == Ends::kRuns) {
        Stop(incarnation, clock_.WallNow());
        ++incarnation.restarts;
        Start(incarnation);
      }
  return OkStatus();
}

Status FakeNode::End(const Action& action) {
  Advance();
  open_faults.erase(KeyOf(action));
  away_.erase(action.target);
  if (action.kind == FaultKind::kTakePort) dead_.erase(action.target);
  if (action.kind == FaultKind::kDown) pids_[action.target] = ++last_pid_;
  return too_late ? Cancelled("too late") : OkStatus();
}

Status FakeNode::Again(const Action&) { return OkStatus(); }

ReportedPod FakeNode::ReportedOf(const Incarnation& incarnation) const {
  const Ends ends = incarnation.pod.from->ends;
  ReportedPod reported{.name = FullName(incarnation.pod.name),
                       .uid = incarnation.uid,
                       .phase = "Pending",
                       .containers = {}};
  if (incarnation.containers.empty()) return reported;
  const bool ended = !incarnation.running && (ends == Ends::kSucceeds || ends == Ends::kFails);
  const bool failed = ends == Ends::kFails || never_ran_.contains(incarnation.containers.back());
  reported.phase = ended ? (failed ? "Failed" : "Succeeded") : "Running";
  if (incarnation.running && incarnation.containers.size() > 1 && bug_ == Bug::kRerunsOnKill)
    reported.phase = ends == Ends::kSucceeds ? "Succeeded" : reported.phase;
  reported.ready = incarnation.running && !incarnation.unready;
  const bool stale = bug_ == Bug::kStaleStatus && incarnation.containers.size() > 1;
  reported.containers.push_back(
      {.name = "app",
       .id = "fake://" + (stale ? incarnation.containers.front() : incarnation.containers.back()),
       .restarts = bug_ == Bug::kMiscounts ? 0 : incarnation.restarts,
       .ready = reported.ready,
       .running = incarnation.running});
  return reported;
}

ReportedPod FakeNode::ServedOf(const Incarnation& incarnation) const {
  ReportedPod served = ReportedOf(incarnation);
  served.mirror = !incarnation.pod.from->api;
  served.deleting = incarnation.removed.has_value();
  served.version = bug_ == Bug::kOldMirror && served.mirror ? 0 : incarnation.pod.version;
  if (served.mirror) served.uid = "mirror-" + served.uid;
  if (bug_ == Bug::kStaleThere && !served.containers.empty() && incarnation.restarts > 0)
    served.containers[0].id = "fake://" + incarnation.containers.front();
  if (revives_ && served.phase == "Succeeded") served.phase = "Running";
  return served;
}

SeenEvents FakeNode::EventsOf(const Incarnation& incarnation) const {
  const auto started = static_cast<int64_t>(incarnation.containers.size());
  const int64_t seconds = (clock_.Now() - Clock::Time{}) / 1s;
  return {.pod = FullName(incarnation.pod.name),
          .uid = incarnation.uid,
          .count = bug_ == Bug::kEventStorm ? started * 3 * seconds : started * 3};
}

Snapshot FakeNode::Inspect() {
  Advance();
  Snapshot s{.at = clock_.Now(),
             .wall = clock_.WallNow(),
             .runtime_answered = true,
             .status_answered = true,
             .reported = kept_,
             .server_answered = !ServerAway(),
             .node_ready = bug_ != Bug::kNodeNotReady,
             .served = kept_there_,
             .witnesses = witnesses_};
  for (const Incarnation& incarnation : incarnations_) {
    s.reported.push_back(ReportedOf(incarnation));
    const bool left = incarnation.removed && incarnation.pod.from->forced;
    if ((bug_ != Bug::kNoMirror || incarnation.pod.from->api) && !left)
      s.served.push_back(ServedOf(incarnation));
    s.events.push_back(EventsOf(incarnation));
    const std::string pod = FullName(incarnation.pod.name);
    if (incarnation.containers.empty()) continue;
    const bool alive = incarnation.running || incarnation.pod.from->ends == Ends::kRestarts;
    s.sandboxes.push_back(
        {.id = "s" + incarnation.uid, .pod = pod, .uid = incarnation.uid, .ready = alive});
    if (incarnation.second_sandbox)
      s.sandboxes.push_back(
          {.id = "t" + incarnation.uid, .pod = pod, .uid = incarnation.uid, .ready = alive});
    using State = SeenContainer::State;
    AddSidecars(incarnation, s);
    for (size_t i = 0; i < incarnation.containers.size(); ++i) {
      const bool last = i + 1 == incarnation.containers.size();
      if (gone_.contains(incarnation.containers[i])) continue;
      s.containers.push_back(
          {.id = incarnation.containers[i],
           .sandbox = "s" + incarnation.uid,
           .pod = pod,
           .uid = incarnation.uid,
           .name = "app",
           .attempt = static_cast<uint32_t>(i) + earlier_attempts,
           .state = last && incarnation.running ? State::kRunning : State::kExited,
           .never_ran = never_ran_.contains(incarnation.containers[i]),
           .started = incarnation.started,
           .restarts = static_cast<int>(i)});
    }
    for (const auto& id : incarnation.extra)
      s.containers.push_back({.id = id,
                              .sandbox = "s" + incarnation.uid,
                              .pod = pod,
                              .uid = incarnation.uid,
                              .name = "app",
                              .state = State::kRunning});
  }
  s.containers.insert(s.containers.end(), undead_.begin(), undead_.end());
  for (const auto& name : Services()) {
    const auto pid = pids_.try_emplace(name, 50).first->second;
    const bool gone = dead_.contains(name) || (away_.contains(name) && bug_ != Bug::kNone);
    s.processes.push_back({.name = name,
                           .pid = gone ? 0 : pid,
                           .memory_bytes = bug_ == Bug::kFat ? 1ull << 32 : 20ull << 20,
                           .descriptors = bug_ == Bug::kOpensFiles ? 5000 : 20});
  }
  return s;
}

std::optional<WallTime> FakeNode::EndOf(const std::string& container) {
  const auto found = ends_.find(container);
  return found == ends_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<BusLine> FakeNode::BusBetween(WallTime from, WallTime to) {
  std::vector<BusLine> lines;
  for (WallTime at = from; at < to; at += 1s)
    lines.push_back({at, "workers: <syncing> " + FullName("web-0")});
  return lines;
}

}  // namespace splitlet::chaos
