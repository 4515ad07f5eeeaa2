#include "libs/kube/node_match.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/scheduling.pb.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

std::optional<int64_t> ToInt(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool Matches(const core::NodeSelectorRequirement& wanted, const Labels& labels) {
  const auto it = labels.find(wanted.key());
  const bool present = it != labels.end();
  const auto& values = wanted.values();
  const bool listed =
      present && std::find(values.begin(), values.end(), it->second) != values.end();
  const std::string& op = wanted.operator_();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if (op == "Exists") return present;
  if (op == "DoesNotExist") return !present;
  if (!present || values.size() != 1) return false;
  const auto have = ToInt(it->second), bound = ToInt(values[0]);
  if (!have || !bound) return false;
  return (op == "Gt" && *have > *bound) || (op == "Lt" && *have < *bound);
}

bool Matches(const core::NodeSelectorTerm& term, const Labels& labels, const Labels& fields) {
  if (term.match_expressions().empty() && term.match_fields().empty()) return false;
  const auto all = [](const auto& requirements, const Labels& of) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&of](const auto& r) { return Matches(r, of); });
  };
  return all(term.match_expressions(), labels) && all(term.match_fields(), fields);
}

bool Tolerates(const core::Toleration& toleration, const Taint& taint) {
  if (!toleration.effect().empty() && toleration.effect() != taint.effect) return false;
  if (!toleration.key().empty() && toleration.key() != taint.key) return false;
  if (toleration.operator_() == "Exists") return true;
  const bool equal = toleration.operator_().empty() || toleration.operator_() == "Equal";
  return equal && !toleration.key().empty() && toleration.value() == taint.value;
}

}  // namespace

bool MatchesNode(const PodSpec& spec, const Labels& labels, const std::string& node_name) {
  for (const auto& [key, value] : spec.node_selector()) {
    const auto it = labels.find(key);
    if (it == labels.end() || it->second != value) return false;
  }
  const auto& affinity = spec.affinity().node_affinity();
  if (!affinity.has_required_during_scheduling_ignored_during_execution()) return true;
  return MatchesNode(affinity.required_during_scheduling_ignored_during_execution(), labels,
                     node_name);
}

bool MatchesNode(const core::NodeSelector& selector, const Labels& labels,
                 const std::string& node_name) {
  const auto& terms = selector.node_selector_terms();
  const Labels fields{{"metadata.name", node_name}};
  return std::any_of(terms.begin(), terms.end(),
                     [&](const auto& term) { return Matches(term, labels, fields); });
}

bool Tolerates(const PodSpec& spec, const Taint& taint) {
  const auto& all = spec.tolerations();
  return std::any_of(all.begin(), all.end(),
                     [&taint](const auto& toleration) { return Tolerates(toleration, taint); });
}

}  // namespace splitlet::kube
