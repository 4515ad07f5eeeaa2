#pragma once

/// The feature gates that a kubelet of Kubernetes 1.36 knows, and what a configuration makes of
/// them. A gate that is set wins over AllAlpha and AllBeta; these two reach no locked gate.
/// Threads: values; the table is constant.
/// Errors:  as reasons that name the gate, in a kubelet's words where a kubelet has them.
/// Source:  docs/configuration.md, "Feature gates"; the Kubernetes API conventions, feature gates.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace splitlet::config {

enum class GateStage { kAlpha, kBeta, kGa, kDeprecated };
enum class GateDefault { kOff, kOn, kLockedOff, kLockedOn };
enum class GateHere {
  kElsewhere,  // of another component, or of the inside of a library: no effect
  kSwitch,     // this node does as it says
  kBuiltIn,    // this node has the feature and cannot be without it: `false` ends the start
  kAbsent,     // not built here: `true` makes a warning
};

struct FeatureGate {
  std::string_view name;
  GateStage stage;
  GateDefault value;
  GateHere here;

  bool OnByDefault() const { return value == GateDefault::kOn || value == GateDefault::kLockedOn; }
  bool Locked() const {
    return value == GateDefault::kLockedOff || value == GateDefault::kLockedOn;
  }
};

/// By name.
std::span<const FeatureGate> KnownGates();
/// "ALPHA", "BETA", "", "DEPRECATED": the label of a kubelet's metric.
std::string_view StageName(GateStage stage);

class ConfigReader;

class FeatureGates {
 public:
  FeatureGates() = default;  // nothing is set
  /// `set`: the key `featureGates`, whose names and values are good.
  explicit FeatureGates(std::map<std::string, bool> set) : set_(std::move(set)) {}

  /// `name`: a known one.
  bool Enabled(std::string_view name) const;
  /// Value in the configuration, from the gate itself or from AllAlpha or AllBeta. nullopt: not
  /// set.
  std::optional<bool> Said(std::string_view name) const;
  /// Whether this node does it: absent features are off here whatever their gate says.
  bool DoneHere(const FeatureGate& gate) const;
  /// Gates of features that are not built here and that the configuration turns on, by name.
  std::vector<std::string> TurnedOnInVain() const;
  /// The gate by itself, without AllAlpha and AllBeta.
  const std::map<std::string, bool>& set() const { return set_; }

 private:
  std::map<std::string, bool> set_;
};

/// The key `featureGates` of a document whose types are good.
std::map<std::string, bool> GatesSet(const ConfigReader& read);

/// Why a node cannot start with `set`: an unknown gate, a locked one, one that it cannot be
/// without. By name; none: it can.
std::vector<std::string> GateProblems(const std::map<std::string, bool>& set);

}  // namespace splitlet::config
