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
  ++puts;
  for (Life& life : lives_) {
    if (life.pod.name != pod.name || life.removed) continue;
    if (pod.from->same_uid) {
      life.pod = pod;
      return OkStatus();
    }
    life.removed = clock_.Now();
    if (life.running) witnesses_[life.pod.witness].terms.push_back(clock_.WallNow());
  }
  if (bug_ == Bug::kNeverStarts && WorkerAway()) return OkStatus();
  lives_.push_back({.pod = pod,
                    .uid = pod.from->same_uid ? "uid-" + pod.name
                                              : fmt::format("uid-{}-{}", pod.name, pod.version),
                    .containers = {},
                    .removed = std::nullopt,
                    .due = clock_.Now() + kStartTakes,
                    .extra = {},
                    .started = std::nullopt});
  if (bug_ == Bug::kEndedForEver && pod.from->same_uid && ended_names_.contains(pod.name))
    lives_.back().containers.push_back(fmt::format("c{}", ++last_id_));
  return OkStatus();
}

Status FakeNode::RemovePod(const std::string& name) {
  Advance();
  for (Life& life : lives_) {
    if (life.pod.name != name || life.removed) continue;
    if (misses_removals && life.pod.from->same_uid) continue;
    life.removed = clock_.Now();
    if (bug_ == Bug::kForgetsRemoval && WorkerAway()) life.lost = true;
    if (life.running) witnesses_[life.pod.witness].terms.push_back(clock_.WallNow());
  }
  return OkStatus();
}

void FakeNode::Start(Life& life) {
  if (first_start_fails && life.containers.empty()) {
    life.containers.push_back(fmt::format("c{}", ++last_id_));
    never_ran_.insert(life.containers.back());
    if (life.pod.from->ends == Ends::kSucceeds) return;  // it may not run again
    ++life.restarts;
  }
  life.containers.push_back(fmt::format("c{}", ++last_id_));
  life.running = true;
  life.started = clock_.WallNow();
  life.due = clock_.Now() + kRunsFor;
  witnesses_[life.pod.witness].starts.push_back(clock_.WallNow());
}

void FakeNode::Stop(Life& life, WallTime at) {
  if (life.running) ends_[life.containers.back()] = at;
  life.running = false;
}

void FakeNode::AdvanceLife(Life& life) {
  const Clock::Time now = clock_.Now();
  const Ends ends = life.pod.from->ends;
  if (WorkerAway() || life.lost) return;
  if (life.removed) {
    Duration takes = life.pod.from->ignores_term ? GraceOf(*life.pod.from) : kStopTakes;
    if (bug_ == Bug::kKillsAtOnce) takes = kStopTakes;
    if (!life.running || now >= *life.removed + takes) {
      Stop(life, clock_.WallNow() - (now - (*life.removed + takes)));
      life.over = true;
      life.lost = false;
    }
    return;
  }
  if (now < life.due) return;
  const bool first = life.containers.empty();
  if (first && bug_ != Bug::kIgnoresRoom && !HasRoom(life)) return;
  if (!life.running && (first || ends == Ends::kRestarts)) {
    life.restarts += first ? 0 : 1;
    return Start(life);
  }
  if (life.running && ends != Ends::kRuns) {
    Stop(life, clock_.WallNow());
    life.due = now + kStartTakes;
  }
}

void FakeNode::Advance() {
  for (size_t i = 0; i < lives_.size(); ++i) {
    // Another life of the name waits for the end of the one before.
    const bool waits = std::any_of(lives_.begin(), lives_.begin() + static_cast<ptrdiff_t>(i),
                                   [&](const Life& l) { return l.pod.name == lives_[i].pod.name; });
    if (!waits || bug_ == Bug::kTwoUids) AdvanceLife(lives_[i]);
  }
  for (const Life& life : lives_) {
    if (!life.over) continue;
    if (bug_ == Bug::kLeaksMount) host_resources_.insert("mount /pods/" + life.uid);
    if (bug_ == Bug::kKeepsStatus) kept_.push_back(ReportedOf(life));
  }
  for (const Life& life : lives_)
    if (life.over) ended_names_.insert(life.pod.name);
  std::erase_if(lives_, [](const Life& life) { return life.over; });
}

bool FakeNode::HasRoom(const Life& life) const {
  int percent = life.pod.from->cpu_percent;
  for (const Life& other : lives_) {
    if (!other.running) continue;
    percent += other.pod.from->cpu_percent;
    const int port = other.pod.from->host_port;
    if (port != 0 && port == life.pod.from->host_port) return false;
  }
  return percent <= 100;
}

void FakeNode::RemoveContainer(Life& life) {
  if (life.containers.empty()) return;
  gone_.insert(life.containers.back());
  const bool again = life.pod.from->ends == Ends::kRuns || bug_ == Bug::kRerunsWhatIsGone;
  Stop(life, clock_.WallNow());
  if (!again) return;
  ++life.restarts;
  Start(life);
}

void FakeNode::AddSidecars(const Life& life, Snapshot& snapshot) {
  if (!life.started) return;
  const bool late = bug_ == Bug::kSidecarsLate;
  const bool heard = bug_ == Bug::kSidecarsEndFirst && life.removed.has_value();
  for (int i = 0; i < life.pod.from->sidecars; ++i) {
    const auto id = fmt::format("{}-side-{}", life.uid, i);
    const bool running = life.running && !heard;
    if (!running) ends_[id] = clock_.WallNow();
    snapshot.containers.push_back(
        {.id = id,
         .sandbox = "s" + life.uid,
         .pod = FullName(life.pod.name),
         .uid = life.uid,
         .name = fmt::format("side-{}", i),
         .state = running ? SeenContainer::State::kRunning : SeenContainer::State::kExited,
         .started = *life.started + (late ? 100ms : -1s)});
  }
}

void FakeNode::OnWorkerKilled() {
  for (Life& life : lives_) {
    life.unready = bug_ == Bug::kUnreadyOnKill;
    if (life.removed) {
      if (bug_ == Bug::kGraceStartsAgain) life.removed = clock_.Now();
      continue;
    }
    if (bug_ == Bug::kDoublesOnKill && life.running)
      life.extra.push_back(fmt::format("x{}", ++last_id_));
    if (bug_ == Bug::kSecondSandbox) life.second_sandbox = true;
    const bool ended = !life.running && !life.containers.empty();
    if ((bug_ == Bug::kRerunsOnKill || bug_ == Bug::kRevives) && ended) Start(life);
    if (bug_ == Bug::kRestartsOnKill && life.running && life.pod.from->ends == Ends::kRuns) {
      Stop(life, clock_.WallNow());
      ++life.restarts;
      Start(life);
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
    if (action.target == "pod-worker") OnWorkerKilled();
    if (action.target == "containerd" && bug_ == Bug::kForgetsTasks)
      host_resources_.insert(fmt::format("task {}", ++last_id_));
  }
  if (action.kind == FaultKind::kDown || action.kind == FaultKind::kPause)
    away_.insert(action.target);
  if (action.kind == FaultKind::kTakePort) dead_.insert(action.target);
  if (action.kind == FaultKind::kBreakManifest && bug_ == Bug::kBrokenKillsPod)
    for (Life& life : lives_)
      if (life.pod.name == action.target && life.running) Stop(life, clock_.WallNow());
  if (action.kind == FaultKind::kRemoveContainer)
    for (Life& life : lives_)
      if (life.pod.name == action.target && !life.removed) RemoveContainer(life);
  if (action.kind == FaultKind::kEndContainer)
    for (Life& life : lives_)
      if (life.pod.name == action.target && life.running && life.pod.from->ends == Ends::kRuns) {
        Stop(life, clock_.WallNow());
        ++life.restarts;
        Start(life);
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

ReportedPod FakeNode::ReportedOf(const Life& life) const {
  const Ends ends = life.pod.from->ends;
  ReportedPod reported{
      .name = FullName(life.pod.name), .uid = life.uid, .phase = "Pending", .containers = {}};
  if (life.containers.empty()) return reported;
  const bool ended = !life.running && (ends == Ends::kSucceeds || ends == Ends::kFails);
  const bool failed = ends == Ends::kFails || never_ran_.contains(life.containers.back());
  reported.phase = ended ? (failed ? "Failed" : "Succeeded") : "Running";
  if (life.running && life.containers.size() > 1 && bug_ == Bug::kRerunsOnKill)
    reported.phase = ends == Ends::kSucceeds ? "Succeeded" : reported.phase;
  reported.ready = life.running && !life.unready;
  const bool stale = bug_ == Bug::kStaleStatus && life.containers.size() > 1;
  reported.containers.push_back(
      {.name = "app",
       .id = "fake://" + (stale ? life.containers.front() : life.containers.back()),
       .restarts = bug_ == Bug::kMiscounts ? 0 : life.restarts,
       .ready = reported.ready,
       .running = life.running});
  return reported;
}

Snapshot FakeNode::Inspect() {
  Advance();
  Snapshot s{.at = clock_.Now(),
             .wall = clock_.WallNow(),
             .runtime_answered = true,
             .status_answered = true,
             .reported = kept_,
             .witnesses = witnesses_};
  for (const Life& life : lives_) {
    s.reported.push_back(ReportedOf(life));
    const std::string pod = FullName(life.pod.name);
    if (life.containers.empty()) continue;
    const bool alive = life.running || life.pod.from->ends == Ends::kRestarts;
    s.sandboxes.push_back({.id = "s" + life.uid, .pod = pod, .uid = life.uid, .ready = alive});
    if (life.second_sandbox)
      s.sandboxes.push_back({.id = "t" + life.uid, .pod = pod, .uid = life.uid, .ready = alive});
    using State = SeenContainer::State;
    AddSidecars(life, s);
    for (size_t i = 0; i < life.containers.size(); ++i) {
      const bool last = i + 1 == life.containers.size();
      if (gone_.contains(life.containers[i])) continue;
      s.containers.push_back({.id = life.containers[i],
                              .sandbox = "s" + life.uid,
                              .pod = pod,
                              .uid = life.uid,
                              .name = "app",
                              .attempt = static_cast<uint32_t>(i) + earlier_attempts,
                              .state = last && life.running ? State::kRunning : State::kExited,
                              .never_ran = never_ran_.contains(life.containers[i]),
                              .started = life.started,
                              .restarts = static_cast<int>(i)});
    }
    for (const auto& id : life.extra)
      s.containers.push_back({.id = id,
                              .sandbox = "s" + life.uid,
                              .pod = pod,
                              .uid = life.uid,
                              .name = "app",
                              .state = State::kRunning});
  }
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
