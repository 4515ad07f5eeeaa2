#include "chaos/round/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "libs/operate/text.h"

namespace splitlet::chaos {
namespace {

constexpr Duration kInspectPeriod = 300ms;
/// At least this much time for steps between two inspections, however long they take.
constexpr Duration kBetweenInspections = 100ms;
/// The node must be without problems for this long to count as settled.
constexpr Duration kCalm = 1s;
/// A runtime removes its own leftovers within this time.
constexpr Duration kRuntimeCleans = 15s;
/// The report shows this much of the timeline around a violation.
constexpr Duration kBefore = 5s, kAfter = 1s;
constexpr size_t kMaxAround = 200;
/// The report shows the timeline only for the first violations, which explain most.
constexpr size_t kMaxDetailed = 25;

using State = SeenContainer::State;

bool IsSetAgain(const Action& action) {
  if (action.kind == FaultKind::kLimitMemory || action.kind == FaultKind::kPartition) return true;
  // Terms with a count, and crashes, must not be set again, or they would never end.
  return std::ranges::all_of(action.points,
                             [](const Action::Point& p) {
                               return p.term.find('*') == std::string::npos &&
                                      p.term.find("crash") == std::string::npos;
                             }) &&
         !action.points.empty();
}

/// The fault kills the runtime or its caller, so it may interrupt calls between them.
bool InterruptsCalls(const Action& action) {
  if (action.target != "containerd" && action.target != "pod-worker") return false;
  const FaultKind kind = action.kind;
  return kind == FaultKind::kKill || kind == FaultKind::kDown || kind == FaultKind::kRestart ||
         kind == FaultKind::kUpgrade || kind == FaultKind::kLimitMemory ||
         std::ranges::any_of(action.points, [](const Action::Point& p) {
           return p.term.find("crash") != std::string::npos;
         });
}

/// Row of the violation in the picture: a pod, a process, or "leftovers".
std::string RowOf(const Violation& violation) {
  if (violation.rule == "leak") return "leftovers";
  return violation.subject.substr(0, violation.subject.find_first_of("/ "));
}

const char* NameOf(State state) {
  switch (state) {
    case State::kCreated: return "created";
    case State::kRunning: return "runs";
    case State::kExited: return "ended";
    case State::kUnknown: return "is unknown";
  }
  UNREACHABLE();
}

}  // namespace

Status CheckPlan(const Scenario& scenario, const Plan& plan, Node& node) {
  if (scenario.api_server) RETURN_IF_ERROR(node.CanServe(), "{}: apiServer", scenario.file);
  for (const Step& step : plan.steps) {
    if (step.kind != Step::Kind::kBegin) continue;
    const Status can = node.CanDo(step.action);
    if (can.ok()) continue;
    int line = 0;
    for (const Fault& fault : scenario.faults)
      if (fault.kind == step.action.kind && line == 0 &&
          (fault.kind != FaultKind::kFailPoint || fault.point == step.action.points[0].name))
        line = fault.line;
    return Annotate(can,
                    fmt::format("{}: {} (line {})", scenario.file, NameOf(step.action.kind), line));
  }
  return OkStatus();
}

Engine::Engine(const EngineDeps& deps, const Scenario& scenario, uint64_t seed)
    : deps_(deps),
      scenario_(scenario),
      plan_(MakePlan(scenario, seed)),
      checker_(scenario, deps.node) {
  outcome_.seed = seed;
}

StatusOr<Outcome> Engine::Run() {
  if (Status can = CheckPlan(scenario_, plan_, deps_.node); !can.ok()) return can;
  began_ = deps_.clock.Now();
  outcome_.timeline.began = deps_.clock.WallNow();
  for (const auto& service : Services())
    if (scenario_.api_server || (service != kApiServer && service != kNodeApi))
      outcome_.timeline.processes.push_back(service);
  before_ = deps_.node.HostResources();
  const Status started = StartPods();
  if (started.ok() && !Stopped()) CarryOut();
  EndAll();
  if (started.ok() && !Stopped()) {
    outcome_.to_settle = Settle("settle", [this] { return checker_.AtRest(last_); });
    Progress(fmt::format("settled after {}", operate::TimeText(outcome_.to_settle)));
  }
  watches_ = false;
  TearDown();
  for (const auto& [key, index] : open_bars_) outcome_.timeline.bars[index].to = Elapsed();
  outcome_.timeline.length = Elapsed();
  AddAround();
  outcome_.interrupted = Stopped();
  if (!started.ok()) return started;
  return std::move(outcome_);
}

Status Engine::StartPods() {
  Inspect();
  for (size_t i = 0; i < scenario_.pods.size(); ++i)
    for (int n = 0; n < scenario_.pods[i].count; ++n) {
      outcome_.timeline.pods.push_back(PodName(scenario_.pods[i], n));
      if (scenario_.pods[i].at_start)
        Put({.kind = Step::Kind::kCreate, .pod_template = i, .number = n});
    }
  if (outcome_.failed.contains("create"))
    return Unavailable("no manifest can be put on the node: {}",
                       outcome_.timeline.entries.back().text);
  outcome_.to_start = Settle("start", [this] { return checker_.AtRest(last_); });
  Progress(fmt::format("{} pods run as wanted after {}", present_.size(),
                       operate::TimeText(outcome_.to_start)));
  if (outcome_.violations.empty()) checker_.OnSettled(last_);
  return OkStatus();
}

void Engine::CarryOut() {
  const Duration start = Elapsed();
  inspected_at_ = start;
  watches_ = true;
  size_t next = 0;
  while (!Stopped()) {
    // Inspections continue even when the plan is late.
    if (Elapsed() >= inspection_due_) Inspect();
    const bool over = next == plan_.steps.size();
    const Duration due = start + (over ? scenario_.duration : plan_.steps[next].at);
    const Duration now = Elapsed();
    if (now < due) {
      if (const Duration wait = std::min(due, inspection_due_) - now; wait > Duration{0})
        deps_.pacer.Wait(wait);
      continue;
    }
    if (over) return;
    outcome_.latest_step = std::max(outcome_.latest_step, now - due);
    Do(plan_.steps[next++]);
  }
}

void Engine::Do(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kCreate:
    case Step::Kind::kUpdate: return Put(step);
    case Step::Kind::kDelete:
      return Remove(PodName(scenario_.pods[step.pod_template], step.number));
    case Step::Kind::kBegin: return Begin(step.action);
    case Step::Kind::kEnd: return End(step.action);
  }
}

void Engine::Put(const Step& step) {
  const PodTemplate& from = scenario_.pods[step.pod_template];
  PodToRun pod{.name = PodName(from, step.number), .witness = "", .from = &from};
  const bool update = step.kind == Step::Kind::kUpdate;
  const std::string what = update ? "update" : "create";
  if (update && !present_.contains(pod.name)) return;
  pod.version = versions_[pod.name]++;
  if (!from.script.empty())
    pod.witness = fmt::format("{}.{}.{}", pod.name, outcome_.seed, from.same_uid ? 0 : pod.version);
  const Status put = deps_.node.PutPod(pod);
  ++(put.ok() ? outcome_.done : outcome_.failed)[what];
  Note(pod.name, put.ok() ? what + "d" : what + " failed: " + Message(put));
  outcome_.timeline.marks.push_back({pod.name, Elapsed(), "load", what});
  if (!put.ok()) return;
  checker_.OnPut(pod, last_);
  if (present_.insert(pod.name).second) {
    open_bars_["wanted/" + pod.name] = outcome_.timeline.bars.size();
    outcome_.timeline.bars.push_back(
        {.row = pod.name, .from = Elapsed(), .to = Elapsed(), .style = "wanted", .text = "wanted"});
  }
}

void Engine::Remove(const std::string& name) {
  if (!present_.contains(name)) return;
  const WallTime at = deps_.clock.WallNow();
  const Status removed = deps_.node.RemovePod(name);
  ++(removed.ok() ? outcome_.done : outcome_.failed)["delete"];
  Note(name, removed.ok() ? "deleted" : "delete failed: " + Message(removed));
  outcome_.timeline.marks.push_back({name, Elapsed(), "load", "delete"});
  if (!removed.ok()) return;
  checker_.OnRemoved(name, at, last_);
  present_.erase(name);
  const auto bar = open_bars_.extract("wanted/" + name);
  if (!bar.empty()) outcome_.timeline.bars[bar.mapped()].to = Elapsed();
}

void Engine::Begin(const Action& action) {
  const std::string kind(NameOf(action.kind));
  const WallTime at = deps_.clock.WallNow();
  const Duration from = Elapsed();
  Active& active = active_[KeyOf(action)];
  const Status begun = deps_.node.Begin(action);
  ++(begun.ok() ? outcome_.done : outcome_.failed)[kind];
  Note("fault", Describe(action) + (begun.ok() ? "" : " failed: " + Message(begun)));
  outcome_.timeline.marks.push_back({action.target, from, "fault", Describe(action)});
  checker_.OnBegin(action, at);
  if (InterruptsCalls(action)) interrupted_calls_.Add(from, from + action.lasting);
  if (action.lasting == Duration{0}) return;
  active.action = action;
  ++active.count;
}

void Engine::End(const Action& action) {
  const auto found = active_.find(KeyOf(action));
  if (found == active_.end() || found->second.count == 0) return;
  outcome_.timeline.bars.push_back({.row = action.target,
                                    .from = Elapsed() - std::min(Elapsed(), action.lasting),
                                    .to = Elapsed(),
                                    .style = "fault",
                                    .text = Describe(action)});
  if (--found->second.count > 0) return;
  const Status ended = deps_.node.End(action);
  if (const std::string kind(NameOf(action.kind)); ended.code() == StatusCode::kCancelled) {
    --outcome_.done[kind];
    ++outcome_.failed[kind];
  }
  Note("fault", "end of " + Describe(action) + (ended.ok() ? "" : " failed: " + Message(ended)));
  checker_.OnEnd(action, deps_.clock.WallNow());
}

void Engine::EndAll() {
  for (auto& [key, active] : active_) {
    active.count = std::min(active.count, 1);
    if (active.count == 1) End(active.action);
  }
}

Duration Engine::Settle(const std::string& what,
                        const std::function<std::vector<Violation>()>& problems) {
  const Duration start = Elapsed();
  Duration right_since{-1};
  while (!Stopped()) {
    Inspect();
    auto found = problems();
    for (const auto& reason : deps_.node.Unwell())
      found.push_back(MakeViolation("status", "processes", reason));
    for (auto& running : checker_.StillRunning()) found.push_back(std::move(running));
    const Duration now = Elapsed();
    if (!found.empty())
      right_since = Duration{-1};
    else if (right_since < Duration{0})
      right_since = now;
    if (right_since >= Duration{0} && now - right_since >= kCalm) return right_since - start;
    if (now - start > scenario_.limits.settle) {
      for (auto& violation : found)
        violation.text +=
            fmt::format(" ({} of {} are over)", operate::TimeText(scenario_.limits.settle), what);
      AddViolations(std::move(found));
      return now - start;
    }
    deps_.pacer.Wait(kInspectPeriod);
  }
  return Elapsed() - start;
}

void Engine::TearDown() {
  const std::set<std::string> all = present_;
  for (const auto& name : all) Remove(name);
  outcome_.to_go = Settle("end", [this] { return checker_.AfterAll(last_); });
  if (!Stopped()) CheckLeaks();
  Progress(fmt::format("all pods gone after {}", operate::TimeText(outcome_.to_go)));
}

std::set<std::string> Engine::Leftovers() {
  const std::set<std::string> now = deps_.node.HostResources();
  std::set<std::string> left;
  std::ranges::set_difference(now, before_, std::inserter(left, left.end()));
  return left;
}

void Engine::CheckLeaks() {
  const Duration start = Elapsed();
  std::set<std::string> left;
  std::string refused;
  while (!Stopped()) {
    const Status cleaned = deps_.node.CleanUp();
    refused = cleaned.ok() ? "" : Message(cleaned);
    left = Leftovers();
    if (!interrupted_calls_.empty() && !left.empty() && Elapsed() - start > kRuntimeCleans) {
      for (const auto& resource :
           deps_.node.RemoveRuntimeLeaks(interrupted_calls_.Affected(left))) {
        left.erase(resource);
        if (outcome_.runtime_leaks.insert(resource).second)
          Note("runtime", "has forgotten " + resource);
      }
    }
    if (left.empty() || Elapsed() - start > scenario_.limits.settle) break;
    Inspect();
    deps_.pacer.Wait(kCalm);
  }
  std::vector<Violation> found;
  for (const auto& resource : left)
    found.push_back(MakeViolation("leak", resource,
                                  "is left over" + (refused.empty() ? "" : "; gc: " + refused)));
  AddViolations(std::move(found));
}

void Engine::Inspect() {
  const Duration began = Elapsed();
  Snapshot now = deps_.node.Inspect();
  MeasureInspection(now, began);
  checker_.OnInspected(now);
  Record(now);
  if (!now.runtime_answered) {  // unknown: the runtime did not answer
    now.containers = std::move(last_.containers);
    now.sandboxes = std::move(last_.sandboxes);
  }
  last_ = std::move(now);
  AddViolations(checker_.Take());
  inspection_due_ = std::max(began + kInspectPeriod, Elapsed() + kBetweenInspections);
}

void Engine::MeasureInspection(const Snapshot& now, Duration began) {
  const Duration gap = began - std::exchange(inspected_at_, began);
  ++outcome_.inspections;
  if (!watches_) return;
  outcome_.longest_gap = std::max(outcome_.longest_gap, gap);
  outcome_.blind_to_runtime += now.runtime_answered ? 0 : 1;
  outcome_.blind_to_status += now.status_answered ? 0 : 1;
}

void Engine::AddViolations(std::vector<Violation> found) {
  for (auto& violation : found) {
    violation.at = Elapsed();
    violation.wall = deps_.clock.WallNow();
    outcome_.timeline.marks.push_back(
        {RowOf(violation), violation.at, "violation", violation.text});
    Note("VIOLATION", fmt::format("{}: {} {}", violation.rule, violation.subject, violation.text));
    Progress(fmt::format("VIOLATION {}: {} {}", violation.rule, violation.subject, violation.text));
    outcome_.violations.push_back(std::move(violation));
  }
}

void Engine::Note(const std::string& who, std::string text) {
  outcome_.timeline.entries.push_back({Elapsed(), deps_.clock.WallNow(), who, std::move(text)});
}

void Engine::Record(const Snapshot& now) {
  RecordProcesses(now);
  if (now.runtime_answered != last_.runtime_answered)
    Note("runtime", now.runtime_answered ? "answers" : "does not answer");
  if (now.status_answered != last_.status_answered)
    Note("status", now.status_answered ? "answers" : "does not answer");
  if (now.server_answered != last_.server_answered)
    Note(kApiServer, now.server_answered ? "answers" : "does not answer");
  if (!now.runtime_answered) return;
  interrupted_calls_.OnListed(now, Elapsed());
  RecordContainers(now);
}

void Engine::RecordProcesses(const Snapshot& now) {
  for (const auto& process : now.processes) {
    Peak& peak = outcome_.peaks[process.name];
    peak.memory_bytes = std::max(peak.memory_bytes, process.memory_bytes);
    peak.descriptors = std::max(peak.descriptors, process.descriptors);
    pid_t& known = pids_[process.name];
    if (process.pid == known) continue;
    const bool first = known == 0 && peak.starts == 0;
    Note(process.name, process.pid == 0 ? fmt::format("pid {} is gone", known)
                                        : fmt::format("runs as pid {}", process.pid));
    known = process.pid;
    if (process.pid == 0) continue;
    ++peak.starts;
    outcome_.timeline.marks.push_back({process.name, Elapsed(), "start", "started"});
    for (const auto& [key, active] : active_) {
      if (first || active.count == 0 || active.action.target != process.name) continue;
      if (!IsSetAgain(active.action)) continue;
      const Status again = deps_.node.Again(active.action);
      Note("fault", Describe(active.action) + (again.ok() ? " again" : ": " + Message(again)));
    }
  }
}

void Engine::RecordContainers(const Snapshot& now) {
  std::map<std::string, State> before;
  for (const auto& c : last_.containers) before[c.id] = c.state;
  std::set<std::string> running;
  for (const auto& c : now.containers) {
    const auto known = before.find(c.id);
    const std::string pod =
        c.pod.substr(0, c.pod.size() - std::min(c.pod.size(), deps_.node.FullName("").size()));
    if (known == before.end() || known->second != c.state)
      Note(pod,
           fmt::format("{} #{} {} ({})", c.name, c.attempt, NameOf(c.state), c.id.substr(0, 12)));
    if (c.state != State::kRunning) continue;
    running.insert("running/" + c.id);
    if (!open_bars_.contains("running/" + c.id)) {
      open_bars_["running/" + c.id] = outcome_.timeline.bars.size();
      outcome_.timeline.bars.push_back({.row = pod,
                                        .from = Elapsed(),
                                        .to = Elapsed(),
                                        .style = "running",
                                        .text = fmt::format("{} #{}", c.name, c.attempt)});
    }
  }
  std::erase_if(open_bars_, [&](const auto& open) {
    if (!open.first.starts_with("running/") || running.contains(open.first)) return false;
    outcome_.timeline.bars[open.second].to = Elapsed();
    return true;
  });
}

/// All lines shortly before the violation, and lines about its subject until shortly after. Later
/// lines belong to the end of the round and explain nothing.
std::vector<Engine::Line> Engine::LinesAround(const Violation& violation,
                                              const std::vector<BusLine>& bus) const {
  const WallTime before = violation.wall - kBefore, until = violation.wall + kAfter;
  const auto is_near = [&](WallTime at, bool of_subject) {
    return of_subject ? at <= until : at >= before && at <= violation.wall;
  };
  const std::string row = RowOf(violation), pod = deps_.node.FullName(row);
  std::vector<Line> lines;
  for (const auto& entry : outcome_.timeline.entries)
    if (is_near(entry.wall, entry.who == row))
      lines.emplace_back(entry.wall, fmt::format("{:14} {}", entry.who, entry.text));
  for (const auto& line : bus)
    if (is_near(line.at, line.text.find(pod) != std::string::npos))
      lines.emplace_back(line.at, "bus            " + line.text);
  std::ranges::stable_sort(lines, {}, &Line::first);
  return lines;
}

void Engine::AddAround() {
  auto& violations = outcome_.violations;
  if (violations.empty()) return;
  const auto bus = deps_.node.BusBetween(outcome_.timeline.began, violations.back().wall + kAfter);
  for (size_t n = 0; n < std::min(violations.size(), kMaxDetailed); ++n) {
    const auto lines = LinesAround(violations[n], bus);
    const size_t skip = lines.size() > kMaxAround ? lines.size() - kMaxAround : 0;
    for (size_t i = skip; i < lines.size(); ++i)
      violations[n].around.push_back(
          fmt::format("{:+8.3f}s  {}",
                      static_cast<double>((lines[i].first - violations[n].wall) / 1ms) / 1000.0,
                      lines[i].second));
  }
}

}  // namespace splitlet::chaos
