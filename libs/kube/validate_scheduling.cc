#include "libs/kube/validate_scheduling.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"
#include "libs/kube/validate_metadata.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;
using k8s::io::apimachinery::pkg::apis::meta::v1::LabelSelector;

constexpr const char* kNoOperator = "not a valid selector operator";

/// Number of values that an operator needs.
enum class Values { kSome, kNone, kOne, kUnknown };

Values ValuesOf(const std::string& op, bool of_nodes) {
  if (op == "In" || op == "NotIn") return Values::kSome;
  if (op == "Exists" || op == "DoesNotExist") return Values::kNone;
  return of_nodes && (op == "Lt" || op == "Gt") ? Values::kOne : Values::kUnknown;
}

/// Owner of the matched labels. A term for preferred nodes may have any value.
enum class LabelsOf { kPods, kNodes, kPreferredNodes };

template <class Requirement>
void ValidateRequirement(const Requirement& rule, LabelsOf whose, const std::string& path,
                         FieldErrors& errors) {
  const std::string values = Field(path, "values");
  switch (ValuesOf(rule.operator_(), whose != LabelsOf::kPods)) {
    case Values::kSome:
      if (rule.values_size() == 0)
        errors.Required(values, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case Values::kNone:
      if (rule.values_size() > 0)
        errors.Forbidden(values,
                         "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case Values::kOne:
      if (rule.values_size() != 1)
        errors.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    case Values::kUnknown:
      errors.Invalid(Field(path, "operator"), rule.operator_(), kNoOperator);
      break;
  }
  errors.Check(Field(path, "key"), rule.key(), CheckQualifiedName(rule.key()));
  if (whose == LabelsOf::kPreferredNodes) return;
  for (int i = 0; i < rule.values_size(); ++i)
    errors.Check(At(values, i), rule.values(i), CheckLabelValue(rule.values(i)));
}

void ValidateSelector(const LabelSelector& selector, const std::string& path, FieldErrors& errors) {
  using Sorted = std::map<std::string, std::string>;
  const auto& labels = selector.match_labels();
  for (const auto& [key, value] : Sorted(labels.begin(), labels.end())) {
    errors.Check(Field(path, "matchLabels"), key, CheckQualifiedName(key));
    errors.Check(AtKey(Field(path, "matchLabels"), key), value, CheckLabelValue(value));
  }
  for (int i = 0; i < selector.match_expressions_size(); ++i)
    ValidateRequirement(selector.match_expressions(i), LabelsOf::kPods,
                        At(Field(path, "matchExpressions"), i), errors);
}

using Keys = google::protobuf::RepeatedPtrField<std::string>;

/// Keys whose values come from the pod's own labels.
void ValidateLabelKeys(const Keys& keys, bool has_selector, const std::string& path,
                       FieldErrors& errors) {
  if (keys.empty()) return;
  if (!has_selector)
    return errors.Forbidden(path, "must not be specified when labelSelector is not set");
  for (int i = 0; i < keys.size(); ++i)
    errors.Check(At(path, i), keys[i], CheckQualifiedName(keys[i]));
}

/// An API server writes the values into the selector, once for each key. A second value means that
/// the user's own selector has the key too.
void ValidateMatchedOnce(const Keys& keys, const LabelSelector& selector, const std::string& path,
                         FieldErrors& errors) {
  const auto& rules = selector.match_expressions();
  for (int i = 0; i < keys.size(); ++i) {
    const auto count = std::count_if(rules.begin(), rules.end(),
                                     [&](const auto& rule) { return rule.key() == keys[i]; });
    if (count + (selector.match_labels().contains(keys[i]) ? 1 : 0) > 1)
      errors.Invalid(At(path, i), keys[i], "exists in both matchLabelKeys and labelSelector");
  }
}

void ValidateNodeField(const core::NodeSelectorRequirement& rule, const std::string& path,
                       FieldErrors& errors) {
  if (rule.operator_() != "In" && rule.operator_() != "NotIn") {
    errors.Invalid(Field(path, "operator"), rule.operator_(), kNoOperator);
  } else if (rule.values_size() != 1) {
    errors.Required(
        Field(path, "values"),
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (rule.key() != "metadata.name") {
    errors.Invalid(Field(path, "key"), rule.key(), "not a valid field selector key");
    return;
  }
  for (int i = 0; i < rule.values_size(); ++i)
    errors.Check(At(Field(path, "values"), i), rule.values(i), CheckDnsSubdomain(rule.values(i)));
}

void ValidateNodeTerm(const core::NodeSelectorTerm& term, LabelsOf whose, const std::string& path,
                      FieldErrors& errors) {
  for (int i = 0; i < term.match_expressions_size(); ++i)
    ValidateRequirement(term.match_expressions(i), whose, At(Field(path, "matchExpressions"), i),
                        errors);
  for (int i = 0; i < term.match_fields_size(); ++i)
    ValidateNodeField(term.match_fields(i), At(Field(path, "matchFields"), i), errors);
}

void CheckWeight(int32_t weight, const std::string& path, FieldErrors& errors) {
  if (weight < 1 || weight > 100)
    errors.Invalid(Field(path, "weight"), weight, "must be in the range 1-100");
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void ValidateNodeAffinity(const core::NodeAffinity& affinity, FieldErrors& errors) {
  const std::string path = "spec.affinity.nodeAffinity";
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    const auto& terms =
        affinity.required_during_scheduling_ignored_during_execution().node_selector_terms();
    const std::string at = Field(Field(path, kRequired), "nodeSelectorTerms");
    if (terms.empty()) errors.Required(at, "must have at least one node selector term");
    for (int i = 0; i < terms.size(); ++i)
      ValidateNodeTerm(terms[i], LabelsOf::kNodes, At(at, i), errors);
  }
  const auto& preferred = affinity.preferred_during_scheduling_ignored_during_execution();
  for (int i = 0; i < preferred.size(); ++i) {
    const std::string at = At(Field(path, kPreferred), i);
    CheckWeight(preferred[i].weight(), at, errors);
    ValidateNodeTerm(preferred[i].preference(), LabelsOf::kPreferredNodes, Field(at, "preference"),
                     errors);
  }
}

void ValidatePodTerm(const core::PodAffinityTerm& term, const std::string& path,
                     FieldErrors& errors) {
  ValidateSelector(term.label_selector(), Field(path, "labelSelector"), errors);
  ValidateSelector(term.namespace_selector(), Field(path, "namespaceSelector"), errors);
  for (const std::string& name : term.namespaces())
    errors.Check(Field(path, "namespace"), name, CheckDnsLabel(name));
  const std::string match = Field(path, "matchLabelKeys");
  const Keys& keys = term.match_label_keys();
  const Keys& others = term.mismatch_label_keys();
  ValidateLabelKeys(keys, term.has_label_selector(), match, errors);
  ValidateLabelKeys(others, term.has_label_selector(), Field(path, "mismatchLabelKeys"), errors);
  ValidateMatchedOnce(keys, term.label_selector(), match, errors);
  for (int i = 0; i < keys.size(); ++i)
    if (std::find(others.begin(), others.end(), keys[i]) != others.end())
      errors.Invalid(At(match, i), keys[i], "exists in both matchLabelKeys and mismatchLabelKeys");
  if (term.topology_key().empty())
    return errors.Required(Field(path, "topologyKey"), "can not be empty");
  errors.Check(Field(path, "topologyKey"), term.topology_key(),
               CheckQualifiedName(term.topology_key()));
}

/// Pod affinity and anti-affinity, which have the same form.
template <class Affinity>
void ValidatePodAffinity(const Affinity& affinity, const std::string& path, FieldErrors& errors) {
  const auto& required = affinity.required_during_scheduling_ignored_during_execution();
  for (int i = 0; i < required.size(); ++i)
    ValidatePodTerm(required[i], At(Field(path, kRequired), i), errors);
  const auto& preferred = affinity.preferred_during_scheduling_ignored_during_execution();
  for (int i = 0; i < preferred.size(); ++i) {
    const std::string at = At(Field(path, kPreferred), i);
    CheckWeight(preferred[i].weight(), at, errors);
    ValidatePodTerm(preferred[i].pod_affinity_term(), Field(at, "podAffinityTerm"), errors);
  }
}

void ValidateAffinity(const core::Affinity& affinity, FieldErrors& errors) {
  ValidateNodeAffinity(affinity.node_affinity(), errors);
  ValidatePodAffinity(affinity.pod_affinity(), "spec.affinity.podAffinity", errors);
  ValidatePodAffinity(affinity.pod_anti_affinity(), "spec.affinity.podAntiAffinity", errors);
}

/// Lt and Gt belong to a feature that is off.
void ValidateTolerations(const PodSpec& spec, FieldErrors& errors) {
  for (int i = 0; i < spec.tolerations_size(); ++i) {
    const auto& toleration = spec.tolerations(i);
    const std::string path = At("spec.tolerations", i);
    const std::string& op = toleration.operator_();
    if (!toleration.key().empty())
      errors.Check(Field(path, "key"), toleration.key(), CheckQualifiedName(toleration.key()));
    if (toleration.key().empty() && op != "Exists")
      errors.Invalid(Field(path, "operator"), op, "operator must be Exists when `key` is empty");
    if (toleration.has_toleration_seconds() && toleration.effect() != "NoExecute")
      errors.Invalid(Field(path, "effect"), toleration.effect(),
                     "effect must be NoExecute when `tolerationSeconds` is set");
    if (op == "Exists" && !toleration.value().empty())
      errors.Invalid(Field(path, "value"), toleration.value(),
                     "value must be empty when `operator` is Exists");
    if (op.empty() || op == "Equal")
      errors.Check(Field(path, "value"), toleration.value(), CheckLabelValue(toleration.value()));
    else if (op != "Exists")
      errors.Unsupported(Field(path, "operator"), op, {"Equal", "Exists"});
    const std::string& effect = toleration.effect();
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
        effect != "NoExecute")
      errors.Unsupported(Field(path, "effect"), effect,
                         {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

void CheckPolicy(const std::string& policy, const std::string& path, FieldErrors& errors) {
  if (!policy.empty() && policy != "Honor" && policy != "Ignore")
    errors.Unsupported(path, policy, {"Honor", "Ignore"});
}

void ValidateSpread(const PodSpec& spec, FieldErrors& errors) {
  std::set<std::string> known;
  for (int i = 0; i < spec.topology_spread_constraints_size(); ++i) {
    const auto& rule = spec.topology_spread_constraints(i);
    const std::string path = At("spec.topologySpreadConstraints", i);
    if (rule.max_skew() <= 0)
      errors.Invalid(Field(path, "maxSkew"), rule.max_skew(), "must be greater than zero");
    if (rule.topology_key().empty()) {
      errors.Required(Field(path, "topologyKey"), "can not be empty");
    } else {
      errors.Check(Field(path, "topologyKey"), rule.topology_key(),
                   CheckQualifiedName(rule.topology_key()));
    }
    const std::string& when = rule.when_unsatisfiable();
    if (when != "DoNotSchedule" && when != "ScheduleAnyway")
      errors.Unsupported(Field(path, "whenUnsatisfiable"), when,
                         {"DoNotSchedule", "ScheduleAnyway"});
    CheckPolicy(rule.node_affinity_policy(), Field(path, "nodeAffinityPolicy"), errors);
    CheckPolicy(rule.node_taints_policy(), Field(path, "nodeTaintsPolicy"), errors);
    ValidateSelector(rule.label_selector(), Field(path, "labelSelector"), errors);
    const std::string keys = Field(path, "matchLabelKeys");
    ValidateLabelKeys(rule.match_label_keys(), rule.has_label_selector(), keys, errors);
    ValidateMatchedOnce(rule.match_label_keys(), rule.label_selector(), keys, errors);
    const std::string both = fmt::format("{{{}, {}}}", rule.topology_key(), when);
    if (!known.insert(both).second)
      errors.Duplicate(Field(path, "{topologyKey, whenUnsatisfiable}"), both);
    if (!rule.has_min_domains()) continue;
    if (rule.min_domains() <= 0)
      errors.Invalid(Field(path, "minDomains"), rule.min_domains(), "must be greater than zero");
    if (when != "DoNotSchedule")
      errors.Invalid(Field(path, "minDomains"), rule.min_domains(),
                     "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
  }
}

}  // namespace

void ValidateScheduling(const PodSpec& spec, FieldErrors& errors) {
  if (spec.scheduling_gates_size() > 0 && !spec.node_name().empty())
    errors.Forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  if (!spec.node_name().empty())
    errors.Check("spec.nodeName", spec.node_name(), CheckDnsSubdomain(LowerCase(spec.node_name())));
  for (const auto& [key, value] : std::map<std::string, std::string>(spec.node_selector().begin(),
                                                                     spec.node_selector().end())) {
    errors.Check("spec.nodeSelector", key, CheckQualifiedName(key));
    errors.Check(AtKey("spec.nodeSelector", key), value, CheckLabelValue(value));
  }
  for (int i = 0; i < spec.readiness_gates_size(); ++i) {
    const std::string& type = spec.readiness_gates(i).condition_type();
    errors.Check(Field(At("spec.readinessGates", i), "conditionType"), type,
                 CheckQualifiedName(type));
  }
  std::set<std::string> claims;
  for (int i = 0; i < spec.resource_claims_size(); ++i) {
    const auto& claim = spec.resource_claims(i);
    const std::string path = At("spec.resourceClaims", i);
    errors.Check(Field(path, "name"), claim.name(), CheckDnsLabel(claim.name()));
    if (!claims.insert(claim.name()).second) errors.Duplicate(Field(path, "name"), claim.name());
    if (claim.has_resource_claim_name() == claim.has_resource_claim_template_name())
      errors.Invalid(
          path, claim.name(),
          "exactly one of `resourceClaimName` and `resourceClaimTemplateName` is needed");
  }
  ValidateTolerations(spec, errors);
  ValidateAffinity(spec.affinity(), errors);
  ValidateSpread(spec, errors);
}

}  // namespace splitlet::kube
