#include "ctl/commands/run_once.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "ctl/show/pods.h"
#include "ctl/show/processes.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/operate/client.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

using Outcome = OnceResult::Outcome;
constexpr int kPollMs = 300;

bool AllRun(const operate::PodView& view) {
  const auto& statuses = view.pod->status().container_statuses();
  return statuses.size() == view.pod->spec().containers_size() &&
         std::ranges::all_of(statuses, [](const auto& c) { return c.state().has_running(); });
}

std::string NameOf(const operate::PodView& view) { return view.name_space + "/" + view.name; }

/// Problems of the manifests themselves.
struct SourceState {
  Status refused;         // this user may not query; waiting does not help
  bool complete = false;  // every source was read whole
  std::string waits_for;
  std::vector<std::string> problems;
};

SourceState InspectSources(const operate::Client& client) {
  SourceState state;
  const auto sources = client.GetSources();
  if (!sources.ok()) {
    state.waits_for = Message(sources.status());
    if (sources.status().code() == StatusCode::kPermissionDenied) state.refused = sources.status();
    return state;
  }
  state.complete = true;
  for (const auto& source : (*sources)->sources()) {
    for (const auto& problem : source.problems())
      state.problems.push_back(problem.where() + ": " + ReasonOf(problem));
    // A broken manifest is reported as a problem; waiting does not repair it.
    if (source.complete() || source.problems_size() > 0) continue;
    state.complete = false;
    state.waits_for = fmt::format("source {}: {}", source.name(), source.reason());
  }
  return state;
}

/// Prints the outcome of each pod when it first becomes known.
class Round {
 public:
  explicit Round(const operate::Context& context) : context_(context) {}

  /// True when there is nothing left to wait for.
  bool Inspect() {
    const SourceState sources = InspectSources(context_.client);
    problems_ = sources.problems;
    waits_for_ = sources.waits_for;
    refused_ = sources.refused;
    if (!refused_.ok()) return true;
    if (!sources.complete) return false;
    const operate::NodePods node = context_.client.ListPods(operate::Client::Detail::kAll);
    if (node.refused) refused_ = PermissionDenied("{}", node.problems.front());
    if (!refused_.ok()) return true;
    if (!node.listed) {
      waits_for_ = node.problems.empty() ? "no process can list the pods" : node.problems.front();
      return false;
    }
    waiting_.clear();
    seen_ = 0;
    const WallTime now = context_.client.clock().WallNow();
    for (const operate::PodView& view : node.pods)
      if (IsFromManifest(view)) Take(view, JudgeOnce(view, now));
    return waiting_.empty();
  }

  Status Result(bool over) const {
    if (!refused_.ok()) return refused_;
    for (const std::string& problem : problems_) context_.out << OneLine(problem) << "\n";
    for (const auto& [uid, text] : waiting_) context_.out << OneLine(text) << "\n";
    if (!waits_for_.empty() && over) return DeadlineExceeded("{}", waits_for_);
    std::string failed = Names();
    if (!failed.empty()) return Aborted("error running pods: [{}]", failed);
    if (!problems_.empty()) return Aborted("{} manifests are invalid", problems_.size());
    if (seen_ == 0) return NotFound("no manifest contains a pod");
    return OkStatus();
  }

 private:
  void Take(const operate::PodView& view, const OnceResult& result) {
    ++seen_;
    const std::string name = fmt::format("{}_{}({})", view.name, view.name_space, view.uid);
    if (result.outcome == Outcome::kWaiting) {
      waiting_[name] = fmt::format("{}   not in time: {}", NameOf(view), result.text);
      return;
    }
    if (result.outcome == Outcome::kFailed)
      failed_.insert_or_assign(name, true);
    else
      failed_.erase(name);
    if (shown_[view.uid] == result.text) return;
    shown_[view.uid] = result.text;
    context_.out << OneLine(fmt::format("{}   {}", NameOf(view), result.text)) << "\n"
                 << std::flush;
  }

  std::string Names() const {
    std::string names;
    for (const auto& [name, unused] : failed_) names += (names.empty() ? "" : " ") + name;
    for (const auto& [name, unused] : waiting_) names += (names.empty() ? "" : " ") + name;
    return names;
  }

  const operate::Context& context_;
  std::map<std::string, std::string> waiting_, shown_;
  std::map<std::string, bool> failed_;
  std::vector<std::string> problems_;
  std::string waits_for_;
  Status refused_;
  size_t seen_ = 0;
};

}  // namespace

OnceResult JudgeOnce(const operate::PodView& view, WallTime now) {
  if (view.admission != nullptr && view.desired != nullptr &&
      view.admission->incarnation() == view.desired->incarnation() &&
      view.admission->decision() != v1::AdmissionRecord::ADMITTED)
    return {Outcome::kRefused,
            fmt::format("refused: {}: {}", view.admission->reason(), view.admission->message())};
  const std::string& phase = view.pod->status().phase();
  if (phase == "Succeeded") return {Outcome::kUp, phase};
  if (phase == "Failed")
    return {Outcome::kFailed, fmt::format("failed: {}", MakePodRow(view, now).status)};
  if (phase == "Running" && AllRun(view)) return {Outcome::kUp, phase};
  const std::string status = MakePodRow(view, now).status;
  return {Outcome::kWaiting, status.empty() ? "no status yet" : status};
}

bool IsFromManifest(const operate::PodView& view) { return view.source != "api" && !view.removed; }

Status RunOnce(const operate::Context& context, const std::string& timeout) {
  const auto limit = operate::ParseSince(timeout);
  if (!limit.ok()) return InvalidArgument("--timeout: {}", Message(limit.status()));
  const Clock& clock = context.client.clock();
  const Clock::Time end = clock.Now() + *limit;
  Round round(context);
  while (!context.stopped()) {
    if (round.Inspect()) return round.Result(false);
    if (clock.Now() >= end) return round.Result(true);
    poll(nullptr, 0, kPollMs);
  }
  return Cancelled("stopped by a signal before all pods were up");
}

}  // namespace splitlet::ctl
