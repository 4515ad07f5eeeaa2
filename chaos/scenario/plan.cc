#include "chaos/scenario/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libs/base/random.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {
namespace {

Duration Draw(Random& random, Duration low, Duration high) {
  if (high <= low) return low;
  constexpr Duration kUnit = 1ms;
  return low + kUnit * static_cast<int64_t>(
                           random.Below(static_cast<uint64_t>((high - low) / kUnit) + 1));
}

std::vector<Duration> Times(const When& when, Duration end, Random& random) {
  if (when.every_low == Duration{0}) return {when.first};
  std::vector<Duration> times;
  const Duration until = when.until == Duration{0} ? end : std::min(when.until, end);
  for (Duration at = when.first + Draw(random, Duration{0}, when.every_high); at < until;
       at += Draw(random, when.every_low, when.every_high))
    times.push_back(at);
  return times;
}

class Planner {
 public:
  Planner(const Scenario& scenario, uint64_t seed) : scenario_(scenario), random_(seed) {
    for (const auto& pod : scenario.pods) {
      present_.emplace_back();
      for (int i = 0; pod.at_start && i < pod.count; ++i) present_.back().insert(i);
    }
  }

  Plan Make() {
    DrawLoad();
    for (const Fault& fault : scenario_.faults)
      for (const Duration at : Times(fault.when, scenario_.duration, random_)) AddFault(fault, at);
    std::ranges::stable_sort(plan_.steps, {}, &Step::at);
    return std::move(plan_);
  }

 private:
  /// Ordered by time: only pods created before can be deleted.
  void DrawLoad() {
    std::vector<std::pair<Duration, const Load*>> due;
    for (const Load& load : scenario_.load)
      for (const Duration at : Times(load.when, scenario_.duration, random_))
        due.emplace_back(at, &load);
    std::ranges::stable_sort(due, {}, &std::pair<Duration, const Load*>::first);
    for (const auto& [at, load] : due) Apply(*load, at);
  }

  void Apply(const Load& load, Duration at) {
    const auto found = std::ranges::find(scenario_.pods, load.pods, &PodTemplate::name);
    const auto index = static_cast<size_t>(found - scenario_.pods.begin());
    std::set<int>& present = present_[index];
    bool create = load.kind == Load::Kind::kCreate;
    int batch = load.batch;
    if (load.kind == Load::Kind::kWave) {
      create = present.size() * 2 < static_cast<size_t>(found->count);
      batch = found->count;
    }
    for (int i = 0; i < batch; ++i) {
      std::vector<int> choice;
      for (int n = 0; n < found->count; ++n)
        if (present.contains(n) != create) choice.push_back(n);
      if (choice.empty()) return;
      const int number = choice[random_.Below(choice.size())];
      Step step{.at = at, .kind = Step::Kind::kUpdate, .pod_template = index, .number = number};
      if (load.kind != Load::Kind::kUpdate) {
        step.kind = create ? Step::Kind::kCreate : Step::Kind::kDelete;
        if (create)
          present.insert(number);
        else
          present.erase(number);
      }
      plan_.steps.push_back(std::move(step));
    }
  }

  void AddFault(const Fault& fault, Duration at) {
    std::vector<std::string> targets = fault.targets;
    if (!fault.all_targets && fault.kind != FaultKind::kSlowRuntime)
      targets = {fault.targets[random_.Below(fault.targets.size())]};
    const Duration lasting = Draw(random_, fault.lasting_low, fault.lasting_high);
    for (const std::string& target : targets) {
      Action action{.kind = fault.kind, .target = target, .bytes = fault.bytes, .lasting = lasting};
      action.points = PointsOf(fault);
      if (!fault.answers.empty())
        action.points = {{kApiServer, fault.answers[random_.Below(fault.answers.size())]}};
      if (fault.kind == FaultKind::kHangPod || fault.kind == FaultKind::kEndContainer ||
          fault.kind == FaultKind::kRemoveContainer || fault.kind == FaultKind::kBreakManifest)
        action.target = DrawPod(target);
      plan_.steps.push_back({.at = at, .kind = Step::Kind::kBegin, .action = action});
      if (lasting > Duration{0})
        plan_.steps.push_back({.at = std::min(at + lasting, scenario_.duration),
                               .kind = Step::Kind::kEnd,
                               .action = action});
    }
  }

  std::string DrawPod(const std::string& name) {
    const auto found = std::ranges::find(scenario_.pods, name, &PodTemplate::name);
    return PodName(*found, static_cast<int>(random_.Below(static_cast<uint64_t>(found->count))));
  }

  static std::vector<Action::Point> PointsOf(const Fault& fault) {
    std::vector<Action::Point> points;
    const std::string delay = fmt::format("delay({}ms)", fault.delay / 1ms);
    if (fault.kind == FaultKind::kFailPoint) points = {{fault.point, fault.term}};
    if (fault.kind == FaultKind::kSlowRuntime)
      for (const auto& name : RuntimeCalls()) points.push_back({name, delay});
    if (fault.kind == FaultKind::kClockJump)
      points = {{"clock.wall", fmt::format("shift({}ms)", fault.jump / 1ms)}};
    if (fault.kind == FaultKind::kDelayMessages)
      points = {{"bus.publish.before", delay}, {"bus.signal.before", delay}};
    if (fault.kind == FaultKind::kLoseMessages) {
      const std::string drop = fmt::format("{}%drop", fault.percent);
      points = {{"bus.publish.before", drop}, {"bus.signal.before", drop}};
    }
    return points;
  }

  const Scenario& scenario_;
  Random random_;
  std::vector<std::set<int>> present_;
  Plan plan_;
};

}  // namespace

std::string PodName(const PodTemplate& pod, int number) {
  return fmt::format("{}-{}", pod.name, number);
}

const std::vector<std::string>& RuntimeCalls() {
  static const std::vector<std::string> names = {
      "cri.list-pod-sandbox.before", "cri.pod-sandbox-status.before",
      "cri.list-containers.before",  "cri.container-status.before",
      "cri.run-pod-sandbox.before",  "cri.stop-pod-sandbox.before",
      "cri.create-container.before", "cri.start-container.before",
      "cri.stop-container.before",   "cri.remove-pod-sandbox.before",
      "cri.remove-container.before", "cri.image-status.before"};
  return names;
}

std::string Describe(const Action& action) {
  std::string text = std::string(NameOf(action.kind)) + " " + action.target;
  if (action.kind == FaultKind::kFailPoint)
    text += fmt::format(" {}={}", action.points[0].name, action.points[0].term);
  else if (!action.points.empty())
    text += " " + action.points[0].term;
  if (action.bytes != 0) text += fmt::format(" to {} MiB", action.bytes >> 20);
  if (action.lasting > Duration{0}) text += " for " + operate::TimeText(action.lasting);
  return text;
}

std::string KeyOf(const Action& action) {
  std::string part;
  if (action.kind == FaultKind::kFailPoint) part = action.points[0].name;
  if (action.kind == FaultKind::kServerAnswers) part = action.points[0].term;
  return fmt::format("{} {} {}", NameOf(action.kind), action.target, part);
}

Plan MakePlan(const Scenario& scenario, uint64_t seed) { return Planner(scenario, seed).Make(); }

std::string PlanText(const Scenario& scenario, const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    std::string what;
    const auto pod = [&] { return PodName(scenario.pods[step.pod_template], step.number); };
    switch (step.kind) {
      case Step::Kind::kCreate: what = "create " + pod(); break;
      case Step::Kind::kDelete: what = "delete " + pod(); break;
      case Step::Kind::kUpdate: what = "update " + pod(); break;
      case Step::Kind::kBegin: what = Describe(step.action); break;
      case Step::Kind::kEnd: what = "end of " + Describe(step.action); break;
    }
    text += fmt::format("{:>9}  {}\n", operate::TimeText(step.at), what);
  }
  return text;
}

}  // namespace splitlet::chaos
