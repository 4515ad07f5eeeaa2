#include "chaos/rules/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chaos/rules/snapshot_queries.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {

void OrderRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  RecordStarts(snapshot);
  for (const auto& s : snapshot.sandboxes)
    if (const auto starts = first_starts_.find(s.id); starts != first_starts_.end())
      CheckStarts(s, starts->second);
  for (const EndedStop& ended : context().stops.ended()) CheckStop(ended, snapshot);
}

void OrderRule::RecordStarts(const Snapshot& snapshot) {
  for (const auto& c : snapshot.containers) {
    const PodTemplate* from = context().pods.TemplateOf(c.pod);
    if (from == nullptr || from->pod->spec().init_containers().empty()) continue;
    const bool started =
        c.state == SeenContainer::State::kRunning || c.state == SeenContainer::State::kExited;
    if (!started || c.never_ran) continue;
    auto& first = first_starts_[c.sandbox].try_emplace(c.name, c.started).first->second;
    if (!first || (c.started && *c.started < *first)) first = c.started;
  }
}

void OrderRule::CheckStarts(const SeenSandbox& sandbox, const Starts& starts) const {
  const auto add = [&](std::string text) {
    context().findings.Add("order", context().pods.ShortName(sandbox.pod), std::move(text));
  };
  const auto& spec = context().pods.TemplateOf(sandbox.pod)->pod->spec();
  std::vector<std::string> later;  // containers after the checked init container in the spec
  for (const auto& app : spec.containers()) later.push_back(app.name());
  for (int i = spec.init_containers_size() - 1; i >= 0; --i) {
    const std::string& name = spec.init_containers(i).name();
    const auto own = starts.find(name);
    for (const auto& other : later) {
      const auto its = starts.find(other);
      if (its == starts.end()) continue;
      if (own == starts.end())
        add(fmt::format("{} was started before {}", other, name));
      else if (own->second && its->second && *its->second < *own->second)
        add(fmt::format("{} was started {} before {}", other,
                        operate::TimeText(*own->second - *its->second), name));
    }
    later.push_back(name);
  }
}

void OrderRule::CheckStop(const EndedStop& ended, const Snapshot& snapshot) const {
  const Stop& stop = ended.stop;
  const auto& spec = context().pods.TemplateOf(context().node.FullName(stop.pod))->pod->spec();
  const auto& inits = spec.init_containers();
  const auto is_init = [&inits](const std::string& name) {
    return std::ranges::find(inits, name, &kube::Container::name) != inits.end();
  };
  if (!is_init(stop.name)) return;
  if (ended.ended - stop.removed >= stop.grace - context().scenario.limits.grace) return;
  for (const auto& [id, other] : context().stops.all()) {
    if (is_init(other.name) || other.witness != stop.witness || other.removed != stop.removed)
      continue;
    if (IsRunning(snapshot, id) || context().node.EndOf(id).value_or(ended.ended) > ended.ended)
      context().findings.Add("order", stop.pod,
                             fmt::format("{} ended while {} ran", stop.name, other.name));
  }
}

}  // namespace splitlet::chaos
