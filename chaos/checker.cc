#include "chaos/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {
namespace {

using State = SeenContainer::State;

/// An inspection is that much late at worst on a machine that is busy with other things.
constexpr Duration kSlack = 500ms;
/// A worker that is killed between its record of a hook and the call leaves the hook out: one may
/// be missing, not so many.
constexpr size_t kManyHooks = 4;
/// What a process that died costs beside the time that it is away: it starts and lists anew.
constexpr Duration kRestartCost = 3s;

Duration GraceOf(const PodTemplate& pod) {
  return pod.pod->spec().has_termination_grace_period_seconds()
             ? Duration{1s} * pod.pod->spec().termination_grace_period_seconds()
             : Duration{30s};
}

/// Containers of this full name in this state.
std::vector<const SeenContainer*> Of(const Snapshot& snapshot, const std::string& full_name,
                                     State state) {
  std::vector<const SeenContainer*> found;
  for (const auto& c : snapshot.containers)
    if (c.pod == full_name && c.state == state) found.push_back(&c);
  return found;
}

bool IsRunning(const Snapshot& snapshot, const std::string& id) {
  return std::ranges::any_of(snapshot.containers, [&id](const SeenContainer& c) {
    return c.id == id && c.state == State::kRunning;
  });
}

const ReportedPod* OneOf(const std::vector<ReportedPod>& pods, const std::string& full_name) {
  const ReportedPod* best = nullptr;
  for (const auto& reported : pods)
    if (reported.name == full_name && (best == nullptr || reported.phase == "Running"))
      best = &reported;
  return best;
}

const ReportedPod* ReportedOf(const Snapshot& snapshot, const std::string& full_name) {
  return OneOf(snapshot.reported, full_name);
}

bool IsSidecar(const kube::Container& init) { return init.restart_policy() == "Always"; }

/// Nothing of it is left that anybody can see.
bool IsGone(const Snapshot& snapshot, const std::string& full_name) {
  return snapshot.runtime_answered && snapshot.status_answered &&
         ReportedOf(snapshot, full_name) == nullptr &&
         std::ranges::none_of(snapshot.sandboxes,
                              [&](const SeenSandbox& s) { return s.pod == full_name && s.ready; });
}

bool IsTerminal(const std::string& phase) { return phase == "Succeeded" || phase == "Failed"; }

/// It can make a stop late.
bool DelaysStops(FaultKind kind, const std::string& target) {
  switch (kind) {
    case FaultKind::kKill:
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kRestart:
    case FaultKind::kUpgrade:
    case FaultKind::kFailPoint: return target == "pod-worker" || target == "containerd";
    case FaultKind::kSlowRuntime:
    case FaultKind::kFillDisk:
    case FaultKind::kLimitMemory:
    case FaultKind::kHangPod:
    case FaultKind::kReboot: return true;
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump:
    case FaultKind::kPartition:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kTakePort:
    case FaultKind::kFlood:
    case FaultKind::kCollect:
    case FaultKind::kBreakManifest:
    case FaultKind::kServerAnswers:
    case FaultKind::kEndWatches: return false;
  }
  UNREACHABLE();
}

Violation Make(const std::string& rule, const std::string& subject, std::string text) {
  return {.rule = rule, .subject = subject, .text = std::move(text), .wall = {}, .around = {}};
}

}  // namespace

std::string BareId(const std::string& id) {
  const auto slashes = id.find("://");
  return slashes == std::string::npos ? id : id.substr(slashes + 3);
}

void Checker::Found(const std::string& rule, const std::string& subject, std::string text) {
  if (announced_.insert({rule, subject}).second)
    found_.push_back(Make(rule, subject, std::move(text)));
}

void Checker::OnPut(const PodToRun& pod, const Snapshot& last) {
  const auto before = wanted_.find(pod.name);
  if (before != wanted_.end() && !pod.from->same_uid) ExpectStops(before->second, last.wall, last);
  if (pod.from->same_uid)
    for (auto& [id, stop] : stops_) stop.may_live = stop.may_live || stop.pod == pod.name;
  const std::string full_name = node_.FullName(pod.name);
  if (before == wanted_.end()) ++incarnations_[pod.name];
  const bool is_new = before == wanted_.end() && IsGone(last, full_name);
  wanted_[pod.name] = {.pod = pod,
                       .full_name = full_name,
                       .unharmed = {},
                       .new_incarnation = is_new ? std::optional(last.wall) : std::nullopt};
  ours_[full_name] = pod.name;
  templates_[full_name] = pod.from;
}

void Checker::OnRemoved(const std::string& name, WallTime at, const Snapshot& last) {
  const auto found = wanted_.find(name);
  if (found == wanted_.end()) return;
  ExpectStops(found->second, at, last);
  wanted_.erase(found);
}

void Checker::ExpectStops(const Wanted& wanted, WallTime at, const Snapshot& last) {
  const PodTemplate& from = *wanted.pod.from;
  if (from.ends == Ends::kRestarts) return;  // it ends by itself at any time
  for (const auto* c : Of(last, wanted.full_name, State::kRunning)) {
    if (const auto known = stops_.find(c->id); known != stops_.end() && !known->second.may_live)
      continue;
    stops_[c->id] = {.pod = wanted.pod.name,
                     .container = c->id,
                     .name = c->name,
                     .witness = wanted.pod.witness,
                     .removed = at,
                     .grace = GraceOf(from),
                     .ignores_term = from.ignores_term};
  }
}

std::vector<Violation> Checker::StillRunning() const {
  std::vector<Violation> found;
  for (const auto& [id, stop] : stops_)
    if (!stop.may_live)
      found.push_back(Make("unwanted", stop.pod,
                           fmt::format("container {} runs although its pod was removed or changed",
                                       id.substr(0, 12))));
  return found;
}

void Checker::OnBegin(const Action& action, WallTime at) {
  disturbances_.push_back({.kind = action.kind,
                           .target = action.target,
                           .key = KeyOf(action),
                           .from = at,
                           .to = at,
                           .open = action.lasting > Duration{0}});
}

void Checker::OnEnd(const Action& action, WallTime at) {
  for (auto& d : disturbances_) {
    if (!d.open || d.key != KeyOf(action)) continue;
    d.open = false;
    d.to = at;
  }
}

void Checker::OnInspected(const Snapshot& snapshot) {
  CheckProcesses(snapshot);
  CheckReruns(snapshot);
  CheckHooks(snapshot);
  if (snapshot.status_answered) CheckTerminal(snapshot);
  if (snapshot.runtime_answered) CheckRuntime(snapshot);
  if (snapshot.runtime_answered) CheckLeft(snapshot);  // before what leaves in this look
  if (snapshot.server_answered) CheckServer(snapshot);
  if (snapshot.server_answered) CheckEvents(snapshot);
  if (!snapshot.runtime_answered) return;
  CheckOrder(snapshot);
  CheckRoom(snapshot);
  CheckStops(snapshot);
  CheckUnharmed(snapshot);
}

void Checker::CheckRuntime(const Snapshot& snapshot) {
  std::map<std::pair<std::string, std::string>, int> running;
  std::map<std::string, int> ready;
  std::map<std::string, std::set<std::string>> uids;
  for (const auto& c : snapshot.containers) {
    if (c.never_ran) never_ran_[{c.uid, c.name}].insert(c.id);
    if (!IsOurs(c.pod) || c.state != State::kRunning) continue;
    ++running[{c.uid, c.name}];
    uids[c.pod].insert(c.uid);
    // Of a fixed UID it may be another incarnation, whose status is not reported yet: `no-rerun`
    // counts.
    if (const auto terminal = terminal_.find(c.uid);
        terminal != terminal_.end() && !templates_[c.pod]->same_uid)
      Found("terminal", ours_[c.pod],
            fmt::format("container {} runs although the pod was told to have {}", c.name,
                        terminal->second.phase == "Failed" ? "failed" : "succeeded"));
  }
  for (const auto& s : snapshot.sandboxes)
    if (IsOurs(s.pod) && s.ready && ++ready[s.uid] > 1)
      Found("one-sandbox", ours_[s.pod], fmt::format("{} ready sandboxes at once", ready[s.uid]));
  for (const auto& c : snapshot.containers)
    if (const auto n = running.find({c.uid, c.name}); n != running.end() && n->second > 1)
      Found("one-container", ours_[c.pod] + "/" + c.name,
            fmt::format("{} containers run at once", n->second));
  for (const auto& [pod, some] : uids)
    if (some.size() > 1 && !templates_[pod]->forced)  // the next one need not wait for its end
      Found("one-pod", ours_[pod],
            fmt::format("containers of {} UIDs run under its full name", some.size()));
}

void Checker::CheckTerminal(const Snapshot& snapshot) {
  for (const auto& reported : snapshot.reported) {
    if (!IsOurs(reported.name)) continue;
    const auto before = terminal_.find(reported.uid);
    if (before != terminal_.end() && before->second.phase != reported.phase) {
      // A pod of a fixed UID has another incarnation after its removal.
      const auto wanted = wanted_.find(before->second.pod);
      if (wanted != wanted_.end() && wanted->second.pod.from->same_uid)
        terminal_.erase(before);
      else
        Found("terminal", ours_[reported.name],
              fmt::format("phase {} after {}", reported.phase, before->second.phase));
    } else if (IsTerminal(reported.phase)) {
      terminal_[reported.uid] = {ours_[reported.name], reported.phase};
    }
  }
}

/// What ran when a pod had just left was seen before the server was asked: the next inspection
/// tells.
void Checker::CheckServer(const Snapshot& snapshot) {
  std::set<std::string> present;
  for (const auto& served : snapshot.served) {
    if (!IsOurs(served.name)) continue;
    // One mirror pod of a fixed UID may be that of several incarnations.
    if (templates_[served.name]->same_uid) continue;
    if (const auto before = served_terminal_.find(served.uid);
        before != served_terminal_.end() && before->second != served.phase)
      Found("terminal", ours_[served.name],
            fmt::format("phase {} after {} at the API server", served.phase, before->second));
    else if (IsTerminal(served.phase))
      served_terminal_[served.uid] = served.phase;
    if (!served.mirror) present.insert(served.uid);
  }
  std::ranges::set_difference(served_, present, std::inserter(left_server_, left_server_.end()));
  served_ = std::move(present);
}

/// Of a pod that was deleted by force the object goes first and its containers after it: once all
/// of it has ended, nothing of it begins.
void Checker::CheckLeft(const Snapshot& snapshot) {
  std::set<std::string> forced_running;
  for (const auto& c : snapshot.containers) {
    if (!IsOurs(c.pod) || c.state != State::kRunning || !left_server_.contains(c.uid)) continue;
    if (templates_[c.pod]->forced && !forced_over_.contains(c.uid)) {
      forced_running.insert(c.uid);
      continue;
    }
    Found(
        "resurrected", ours_[c.pod],
        fmt::format("container {} runs although the API server has no such pod any more", c.name));
  }
  std::ranges::set_difference(forced_running_, forced_running,
                              std::inserter(forced_over_, forced_over_.end()));
  forced_running_ = std::move(forced_running);
}

void Checker::CheckEvents(const Snapshot& snapshot) {
  for (const SeenEvents& seen : snapshot.events) {
    const int64_t told = event_rates_.InLastMinute(seen.uid, snapshot.at, seen.count);
    if (IsOurs(seen.pod) && told > scenario_.limits.events)
      Found("events", ours_[seen.pod],
            fmt::format("{} events about it in a minute at the API server, the limit is {}", told,
                        scenario_.limits.events));
  }
}

void Checker::CheckReruns(const Snapshot& snapshot) {
  for (const auto& [name, wanted] : wanted_) {
    const PodTemplate& from = *wanted.pod.from;
    if (from.pod->spec().restart_policy() != "Never" || wanted.pod.witness.empty()) continue;
    const auto witness = snapshot.witnesses.find(wanted.pod.witness);
    const int incarnations = from.same_uid ? incarnations_[name] : 1;
    if (witness == snapshot.witnesses.end()) continue;
    if (const auto starts = witness->second.starts.size();
        starts > static_cast<size_t>(incarnations))
      Found("no-rerun", name,
            fmt::format("started {} times with restartPolicy Never in {} {}", starts, incarnations,
                        incarnations == 1 ? "life" : "lives"));
  }
}

void Checker::CheckHooks(const Snapshot& snapshot) {
  for (const auto& [file, witness] : snapshot.witnesses)
    if (witness.hooks_again > 0)
      Found("hooks", file.substr(0, file.find('.')), "a hook began twice in one container");
}

void Checker::CheckOrder(const Snapshot& snapshot) {
  for (const auto& c : snapshot.containers) {
    const auto from = templates_.find(c.pod);
    if (from == templates_.end() || from->second->pod->spec().init_containers().empty()) continue;
    if ((c.state != State::kRunning && c.state != State::kExited) || c.never_ran) continue;
    auto& first = first_starts_[c.sandbox].try_emplace(c.name, c.started).first->second;
    if (!first || (c.started && *c.started < *first)) first = c.started;
  }
  for (const auto& s : snapshot.sandboxes) {
    const auto starts = first_starts_.find(s.id);
    if (starts == first_starts_.end()) continue;
    const auto& spec = templates_[s.pod]->pod->spec();
    std::vector<std::string> later;  // than what is looked at
    for (const auto& app : spec.containers()) later.push_back(app.name());
    for (int i = spec.init_containers_size() - 1; i >= 0; --i) {
      const std::string& name = spec.init_containers(i).name();
      const auto own = starts->second.find(name);
      for (const auto& other : later) {
        const auto its = starts->second.find(other);
        if (its == starts->second.end()) continue;
        if (own == starts->second.end())
          Found("order", ours_[s.pod], fmt::format("{} was started before {}", other, name));
        else if (own->second && its->second && *its->second < *own->second)
          Found("order", ours_[s.pod],
                fmt::format("{} was started {} before {}", other,
                            operate::TimeText(*own->second - *its->second), name));
      }
      later.push_back(name);
    }
  }
}

void Checker::CheckRoom(const Snapshot& snapshot) {
  std::map<std::string, const PodTemplate*> running;  // by UID
  for (const auto& c : snapshot.containers)
    if (c.state == State::kRunning && templates_.contains(c.pod))
      running[c.uid] = templates_[c.pod];
  int percent = 0;
  std::map<int, int> ports;
  for (const auto& [uid, from] : running) {
    percent += from->cpu_percent;
    if (from->host_port != 0 && ++ports[from->host_port] > 1)
      Found("room", fmt::format("port-{}", from->host_port), "two pods have it at once");
  }
  if (percent > 100)
    Found("room", "node",
          fmt::format("pods that request {} % of its processors run at once", percent));
}

Duration Checker::Excuse(WallTime from, WallTime to) const {
  Duration excuse{0};
  for (const auto& d : disturbances_) {
    if (!DelaysStops(d.kind, d.target)) continue;
    const WallTime end = d.open ? to : d.to;
    // What began shortly before is still felt.
    if (end + kRestartCost < from || d.from > to) continue;
    excuse += std::max(Duration{0}, std::min(end, to) - std::max(d.from, from)) + kRestartCost;
  }
  return excuse;
}

bool Checker::WasHit(const std::string& pod) const {
  return std::ranges::any_of(disturbances_, [&pod](const Disturbance& d) {
    return d.target == pod &&
           (d.kind == FaultKind::kEndContainer || d.kind == FaultKind::kRemoveContainer);
  });
}

bool Checker::EndedByFault(const Stop& stop, WallTime to) const {
  return std::ranges::any_of(disturbances_, [&](const Disturbance& d) {
    const bool hit = d.kind == FaultKind::kEndContainer || d.kind == FaultKind::kRemoveContainer;
    const bool ends = (hit && d.target == stop.pod) || d.kind == FaultKind::kReboot;
    return ends && d.from + kRestartCost >= stop.removed && d.from <= to;
  });
}

void Checker::CheckStops(const Snapshot& snapshot) {
  std::vector<std::string> over;
  for (const auto& [id, stop] : stops_) {
    if (IsRunning(snapshot, id)) continue;
    CheckStop(stop, snapshot);
    over.push_back(id);
  }
  for (const auto& id : over) stops_.erase(id);
}

void Checker::CheckStop(const Stop& stop, const Snapshot& snapshot) {
  const auto end = node_.EndOf(stop.container);
  const WallTime ended = end.value_or(snapshot.wall);
  if (ended < stop.removed || EndedByFault(stop, ended)) return;
  CheckStopOrder(stop, ended, snapshot);
  const Duration tolerance = scenario_.limits.grace + (end ? Duration{0} : kSlack);
  const Duration whole = ended - stop.removed;
  if (stop.ignores_term && whole < stop.grace - tolerance)
    Found("grace", stop.pod,
          fmt::format("ended {} after the removal of its manifest; its grace period is {}",
                      operate::TimeText(whole), operate::TimeText(stop.grace)));
  const auto witness = snapshot.witnesses.find(stop.witness);
  if (witness == snapshot.witnesses.end()) return;
  for (const WallTime term : witness->second.terms) {
    if (term < stop.removed - 100ms) continue;
    const Duration lived = ended - term;
    // Only what was broken around the deadline can have delayed it.
    const Duration allowed = stop.grace + tolerance + Excuse(term + stop.grace - kSlack, ended);
    if (lived > allowed)
      Found("grace", stop.pod,
            fmt::format("lived {} after the first TERM; its grace period is {}, and {} are excused",
                        operate::TimeText(lived), operate::TimeText(stop.grace),
                        operate::TimeText(allowed - stop.grace)));
    return;
  }
}

/// A sidecar lives until what comes after it in the spec has ended, or the grace period is over.
void Checker::CheckStopOrder(const Stop& stop, WallTime ended, const Snapshot& snapshot) {
  const auto& spec = templates_[node_.FullName(stop.pod)]->pod->spec();
  const auto is_it = [&stop](const kube::Container& init) { return init.name() == stop.name; };
  const auto& inits = spec.init_containers();
  if (std::none_of(inits.begin(), inits.end(), is_it)) return;
  if (ended - stop.removed >= stop.grace - scenario_.limits.grace) return;
  for (const auto& [id, other] : stops_) {
    const bool app = std::ranges::find(inits, other.name, &kube::Container::name) == inits.end();
    if (!app || other.witness != stop.witness || other.removed != stop.removed) continue;
    if (IsRunning(snapshot, id) || node_.EndOf(id).value_or(ended) > ended)
      Found("order", stop.pod, fmt::format("{} ended while {} ran", stop.name, other.name));
  }
}

void Checker::OnSettled(const Snapshot& snapshot) {
  for (auto& [name, wanted] : wanted_) {
    if (!wanted.pod.from->unharmed || !wanted.unharmed.empty()) continue;
    for (const auto* c : Of(snapshot, wanted.full_name, State::kRunning))
      wanted.unharmed[c->name] = c->id;
  }
}

void Checker::CheckUnharmed(const Snapshot& snapshot) {
  for (const auto& [name, wanted] : wanted_) {
    for (const auto& [container, id] : wanted.unharmed)
      if (!IsRunning(snapshot, id))
        Found("unharmed", name,
              fmt::format("container {} ({}) ended, and nothing asked for it", container,
                          id.substr(0, 12)));
    const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
    if (!wanted.unharmed.empty() && reported != nullptr && !reported->ready)
      Found("unharmed", name + " status", "is told not to be ready while it runs");
    const ReportedPod* served = OneOf(snapshot.served, wanted.full_name);
    if (!wanted.unharmed.empty() && served != nullptr && !served->ready)
      Found("unharmed", name + " server", "is not ready at the API server while it runs");
  }
}

void Checker::CheckProcesses(const Snapshot& snapshot) {
  for (const auto& process : snapshot.processes) {
    const bool held = std::ranges::any_of(disturbances_, [&process](const Disturbance& d) {
      const bool keeps_down =
          d.kind == FaultKind::kDown || (d.kind == FaultKind::kTakePort && d.target == "nats");
      return d.open && keeps_down && d.target == process.name;
    });
    if (process.pid != 0 || held) {
      absent_.erase(process.name);
    } else if (const auto since = absent_.try_emplace(process.name, snapshot.at).first->second;
               snapshot.at - since > scenario_.limits.back) {
      Found("process-back", process.name,
            fmt::format("does not run for {} although nothing keeps it down",
                        operate::TimeText(snapshot.at - since)));
    }
    if (process.memory_bytes > scenario_.limits.memory_bytes)
      Found("memory", process.name,
            fmt::format("{} MiB resident, the limit is {} MiB", process.memory_bytes >> 20,
                        scenario_.limits.memory_bytes >> 20));
    if (process.descriptors > scenario_.limits.descriptors)
      Found("descriptors", process.name,
            fmt::format("{} open, the limit is {}", process.descriptors,
                        scenario_.limits.descriptors));
  }
}

std::vector<Violation> Checker::AtRest(const Snapshot& snapshot) const {
  std::vector<Violation> found;
  if (!snapshot.runtime_answered) found.push_back(Make("runs", "runtime", "does not answer"));
  if (!snapshot.status_answered) found.push_back(Make("status", "status", "does not answer"));
  if (!found.empty()) return found;
  for (const auto& [name, wanted] : wanted_) {
    CheckPod(wanted, snapshot, found);
    CheckReported(wanted, snapshot, found);
  }
  if (scenario_.api_server) CheckAtServer(snapshot, found);
  CheckHooksRun(snapshot, found);
  for (auto& leftover : AfterAll(snapshot)) found.push_back(std::move(leftover));
  return found;
}

void Checker::CheckHooksRun(const Snapshot& snapshot, std::vector<Violation>& found) const {
  size_t starts = 0, ends = 0;
  int post_starts = 0, pre_stops = 0;
  for (const auto& [file, witness] : snapshot.witnesses) {
    const auto from = templates_.find(node_.FullName(file.substr(0, file.find('.'))));
    if (from == templates_.end() || !from->second->hooked) continue;
    starts += witness.starts.size();
    ends += witness.terms.size();
    post_starts += witness.post_starts;
    pre_stops += witness.pre_stops;
  }
  if (starts >= kManyHooks && post_starts == 0)
    found.push_back(
        Make("hooks", "node", fmt::format("{} containers started, no postStart began", starts)));
  if (ends >= kManyHooks && pre_stops == 0)
    found.push_back(
        Make("hooks", "node", fmt::format("{} containers got TERM, no preStop began", ends)));
}

void Checker::CheckPod(const Wanted& wanted, const Snapshot& snapshot,
                       std::vector<Violation>& found) const {
  const std::string& name = wanted.pod.name;
  const auto running = Of(snapshot, wanted.full_name, State::kRunning);
  const Ends ends = wanted.pod.from->ends;
  if (ends == Ends::kSucceeds || ends == Ends::kFails) {
    if (!running.empty()) found.push_back(Make("ends", name, "still runs"));
    CheckStarted(wanted, snapshot, found);
    return;
  }
  const auto ready = std::ranges::count_if(snapshot.sandboxes, [&wanted](const SeenSandbox& s) {
    return s.pod == wanted.full_name && s.ready;
  });
  if (ready != 1) found.push_back(Make("runs", name, fmt::format("has {} ready sandboxes", ready)));
  if (ends == Ends::kRestarts) return;
  const auto check = [&](const kube::Container& spec) {
    const auto count = std::ranges::count_if(
        running, [&spec](const SeenContainer* c) { return c->name == spec.name(); });
    if (count != 1)
      found.push_back(
          Make("runs", name, fmt::format("has {} running containers {}", count, spec.name())));
  };
  for (const auto& init : wanted.pod.from->pod->spec().init_containers())
    if (IsSidecar(init)) check(init);
  for (const auto& app : wanted.pod.from->pod->spec().containers()) check(app);
}

/// What was put when nothing was left of an incarnation before has run since.
void Checker::CheckStarted(const Wanted& wanted, const Snapshot& snapshot,
                           std::vector<Violation>& found) const {
  const std::string& name = wanted.pod.name;
  const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
  if (!wanted.new_incarnation || wanted.pod.witness.empty() || WasHit(name)) return;
  if (reported == nullptr || EndedUnrun(*reported)) return;
  const auto witness = snapshot.witnesses.find(wanted.pod.witness);
  if (witness == snapshot.witnesses.end() ||
      std::ranges::none_of(witness->second.starts,
                           [&](WallTime at) { return at > *wanted.new_incarnation - kSlack; }))
    found.push_back(Make("ends", name, "is over and never ran in this life"));
}

bool Checker::EndedUnrun(const ReportedPod& reported) const {
  return std::ranges::any_of(reported.containers, [&](const ReportedContainer& c) {
    const auto silent = never_ran_.find({reported.uid, c.name});
    return silent != never_ran_.end() && silent->second.contains(BareId(c.id));
  });
}

void Checker::CheckReported(const Wanted& wanted, const Snapshot& snapshot,
                            std::vector<Violation>& found) const {
  const std::string& name = wanted.pod.name;
  const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
  if (reported == nullptr) return found.push_back(Make("status", name, "has no status"));
  const Ends ends = wanted.pod.from->ends;
  const char* want = "Running";
  if (ends == Ends::kSucceeds) want = "Succeeded";
  if (ends == Ends::kFails || (ends == Ends::kSucceeds && EndedUnrun(*reported))) want = "Failed";
  const bool ends_either_way =
      ends == Ends::kSucceeds && WasHit(name) && IsTerminal(reported->phase);
  if (reported->phase != want && !ends_either_way)
    return found.push_back(Make(ends == Ends::kRuns || ends == Ends::kRestarts ? "status" : "ends",
                                name,
                                fmt::format("is told to be {}, want {}", reported->phase, want)));
  if (ends == Ends::kRuns) {
    if (!reported->ready) found.push_back(Make("status", name, "is told not to be ready"));
    for (const auto& c : reported->containers)
      if (!c.running || !IsRunning(snapshot, BareId(c.id)))
        found.push_back(Make("status", name,
                             fmt::format("container {} is told to be {}, which is not what runs",
                                         c.name, BareId(c.id).substr(0, 12))));
  }
  if (ends == Ends::kRuns || ends == Ends::kRestarts)
    CheckRestarts(wanted, snapshot, *reported, found);
}

void Checker::CheckAtServer(const Snapshot& snapshot, std::vector<Violation>& found) const {
  if (!snapshot.server_answered) return;
  if (!snapshot.node_ready) found.push_back(Make("server", "node", "is not Ready there"));
  for (const auto& [name, wanted] : wanted_) CheckServed(wanted, snapshot, found);
}

void Checker::CheckServed(const Wanted& wanted, const Snapshot& snapshot,
                          std::vector<Violation>& found) const {
  const std::string& name = wanted.pod.name;
  const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
  if (reported == nullptr) return;  // that is said already
  const auto wrong = [&](std::string text) { found.push_back(Make("server", name, text)); };
  const auto count = std::ranges::count(snapshot.served, wanted.full_name, &ReportedPod::name);
  if (count != 1) return wrong(fmt::format("is {} times at the API server", count));
  const ReportedPod& served = *OneOf(snapshot.served, wanted.full_name);
  const bool api = wanted.pod.from->api;
  if (served.deleting) return wrong("is being deleted at the API server");
  if (served.mirror == api) return wrong(api ? "is a mirror pod" : "is no mirror pod");
  if (api && served.uid != reported->uid)
    return wrong(fmt::format("is {} at the API server and {} here", served.uid, reported->uid));
  // A mirror pod is compared by the UID that the manifest's content makes, if it gives none.
  if (served.version != wanted.pod.version && !wanted.pod.from->same_uid)
    return wrong(fmt::format("is version {} there, want {}", served.version, wanted.pod.version));
  if (served.phase != reported->phase || served.ready != reported->ready)
    return wrong(fmt::format("is {}, {} at the API server and {}, {} here", served.phase,
                             served.ready ? "ready" : "not ready", reported->phase,
                             reported->ready ? "ready" : "not ready"));
  if (wanted.pod.from->ends == Ends::kRestarts) return;  // it changes each second
  if (served.containers != reported->containers)
    wrong("the API server has other containers than the node reports");
}

void Checker::CheckRestarts(const Wanted& wanted, const Snapshot& snapshot,
                            const ReportedPod& reported, std::vector<Violation>& found) const {
  const std::string& name = wanted.pod.name;
  const auto witness = snapshot.witnesses.find(wanted.pod.witness);
  const bool restarts = wanted.pod.from->ends == Ends::kRestarts;
  for (const auto& c : reported.containers) {
    int newest = -1;
    int64_t attempt = -1;
    for (const auto& seen : snapshot.containers)
      if (seen.uid == reported.uid && seen.name == c.name && seen.attempt > attempt) {
        attempt = seen.attempt;
        newest = seen.restarts;
      }
    const int lag = restarts ? 1 : 0;
    if (newest < c.restarts - lag || newest > c.restarts + lag)
      found.push_back(Make("restarts", name,
                           fmt::format("container {} is told to have {} restarts, its newest "
                                       "attempt ({}) has {}",
                                       c.name, c.restarts, attempt, newest)));
    if (witness == snapshot.witnesses.end() || wanted.pod.from->same_uid) continue;
    // An attempt that the runtime ended before it ran counts, and has written nothing down.
    const auto silent = never_ran_.find({reported.uid, c.name});
    const int starts = static_cast<int>(witness->second.starts.size()) +
                       (silent == never_ran_.end() ? 0 : static_cast<int>(silent->second.size()));
    if (starts > c.restarts + 1 + lag || starts < c.restarts + 1 - lag)
      found.push_back(Make("restarts", name,
                           fmt::format("container {} started {} times and is told to have {} "
                                       "restarts",
                                       c.name, starts, c.restarts)));
  }
}

std::vector<Violation> Checker::AfterAll(const Snapshot& snapshot) const {
  std::vector<Violation> found;
  const auto unwanted = [this](const std::string& full_name) {
    const auto ours = ours_.find(full_name);
    return ours != ours_.end() && !wanted_.contains(ours->second);
  };
  for (const auto& c : snapshot.containers)
    if (unwanted(c.pod) && c.state == State::kRunning)
      found.push_back(Make("unwanted", ours_.at(c.pod),
                           fmt::format("container {} runs and nothing wants it", c.name)));
  for (const auto& s : snapshot.sandboxes)
    if (unwanted(s.pod) && s.ready)
      found.push_back(Make("unwanted", ours_.at(s.pod), "its sandbox is ready, nothing wants it"));
  for (const auto& reported : snapshot.reported)
    if (unwanted(reported.name))
      found.push_back(
          Make("status", ours_.at(reported.name), "still has a status, but is removed"));
  if (scenario_.api_server && !snapshot.server_answered)
    found.push_back(Make("server", kApiServer, "does not answer"));
  for (const auto& served : snapshot.served)
    if (unwanted(served.name))
      found.push_back(
          Make("server", ours_.at(served.name), "is still at the API server, but is removed"));
  return found;
}

}  // namespace splitlet::chaos
