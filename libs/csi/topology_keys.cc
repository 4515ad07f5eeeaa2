#include "libs/csi/topology_keys.h"

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "libs/base/trim.h"

namespace splitlet::csi {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr std::string_view kZoneSeparator = "__";

struct KeyPair {
  std::string_view zone, region;
};
constexpr KeyPair kGa{kZoneLabel, kRegionLabel};
constexpr KeyPair kBeta{kBetaZoneLabel, kBetaRegionLabel};

template <class Visit>
void ForEachExpression(core::PersistentVolume& persistent, std::string_view key, Visit visit) {
  if (!persistent.spec().has_node_affinity()) return;
  auto& required = *persistent.mutable_spec()->mutable_node_affinity()->mutable_required();
  for (auto& term : *required.mutable_node_selector_terms())
    for (auto& expression : *term.mutable_match_expressions())
      if (expression.key() == key) visit(expression);
}

bool HasKey(core::PersistentVolume& persistent, std::string_view key) {
  bool found = false;
  ForEachExpression(persistent, key, [&](const auto&) { found = true; });
  return found;
}

bool HasValue(core::PersistentVolume& persistent, std::string_view key) {
  bool found = false;
  ForEachExpression(persistent, key,
                    [&](const auto& expression) { found = found || !expression.values().empty(); });
  return found;
}

void Rename(core::PersistentVolume& persistent, std::string_view key, std::string_view to) {
  ForEachExpression(persistent, key,
                    [&](auto& expression) { expression.set_key(std::string(to)); });
}

KeyPair PairOf(core::PersistentVolume& persistent) {
  if (HasKey(persistent, kGa.zone)) return kGa;
  if (HasKey(persistent, kBeta.zone)) return kBeta;
  const auto& labels = persistent.metadata().labels();
  if (labels.contains(std::string(kGa.zone))) return kGa;
  return labels.contains(std::string(kBeta.zone)) ? kBeta : kGa;
}

/// Each term gets the requirement, or a new term if there is none.
void AddRequirement(core::PersistentVolume& persistent, std::string_view key,
                    const std::vector<std::string>& labels) {
  std::set<std::string> values;
  for (const auto& label : labels)
    if (std::string value(Trimmed(label)); !value.empty()) values.insert(std::move(value));
  if (values.empty()) return;
  auto& required = *persistent.mutable_spec()->mutable_node_affinity()->mutable_required();
  if (required.node_selector_terms().empty()) required.add_node_selector_terms();
  for (auto& term : *required.mutable_node_selector_terms()) {
    auto& added = *term.add_match_expressions();
    added.set_key(std::string(key));
    added.set_operator_("In");
    for (const auto& value : values) added.add_values(value);
  }
}

}  // namespace

std::vector<std::string> SplitZones(std::string_view label) {
  std::vector<std::string> zones;
  for (size_t from = 0; from <= label.size();) {
    const size_t end = std::min(label.find(kZoneSeparator, from), label.size());
    zones.emplace_back(label.substr(from, end - from));
    from = end + kZoneSeparator.size();
    if (end == label.size()) break;
  }
  return zones;
}

std::string LabelOf(const core::PersistentVolume& persistent, std::string_view key) {
  const auto found = persistent.metadata().labels().find(std::string(key));
  return found == persistent.metadata().labels().end() ? "" : found->second;
}

void UseZoneKey(core::PersistentVolume& persistent, std::string_view driver_key) {
  const KeyPair pair = PairOf(persistent);
  if (HasValue(persistent, pair.zone)) {
    Rename(persistent, pair.zone, driver_key);
  } else {
    AddRequirement(persistent, driver_key, SplitZones(LabelOf(persistent, pair.zone)));
  }
  if (pair.region == kBeta.region && HasValue(persistent, kBeta.region))
    Rename(persistent, kBeta.region, kGa.region);
}

void UseZoneAndRegionKeys(core::PersistentVolume& persistent, std::string_view zone_key,
                          std::string_view region_key) {
  const KeyPair pair = PairOf(persistent);
  const KeyPair wanted{zone_key, region_key};
  for (const auto member : {&KeyPair::zone, &KeyPair::region}) {
    if (HasValue(persistent, pair.*member)) {
      Rename(persistent, pair.*member, wanted.*member);
    } else {
      AddRequirement(persistent, wanted.*member, {LabelOf(persistent, pair.*member)});
    }
  }
}

}  // namespace splitlet::csi
