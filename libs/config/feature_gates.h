#pragma once

/// The feature gates of a kubelet of Kubernetes 1.36, and a configuration's values of them. An
/// explicit gate wins over AllAlpha and AllBeta, which do not change locked gates.
/// Threads: values; the table is constant.
/// Errors:  reasons that name the gate, in a kubelet's words if a kubelet has them.
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
  kElsewhere,  // a gate of another component, or inside of a library: no effect
  kSwitch,     // the gate switches a feature of this node
  kBuiltIn,    // the feature is always on: `false` is an error at start
  kAbsent,     // the feature is not built: `true` is a warning
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
  FeatureGates() = default;  // no gate is set
  /// `set`: the validated value of `featureGates`.
  explicit FeatureGates(std::map<std::string, bool> set) : set_(std::move(set)) {}

  /// `name`: a known gate.
  bool Enabled(std::string_view name) const;
  /// Value in the configuration, of the gate itself or through AllAlpha or AllBeta. nullopt: not
  /// set.
  std::optional<bool> Said(std::string_view name) const;
  /// True if this node has the feature and its gate is on.
  bool DoneHere(const FeatureGate& gate) const;
  /// Names of the gates that the configuration turns on although their features are not built.
  std::vector<std::string> TurnedOnInVain() const;
  /// Gates that are set explicitly, without AllAlpha and AllBeta.
  const std::map<std::string, bool>& set() const { return set_; }

 private:
  std::map<std::string, bool> set_;
};

/// The key `featureGates` of a document whose types are valid.
std::map<std::string, bool> GatesSet(const ConfigReader& read);

/// Reasons why a node cannot start with `set`: unknown gates, locked gates, features that cannot be
/// turned off. Sorted by name; empty: the node can start.
std::vector<std::string> GateProblems(const std::map<std::string, bool>& set);

}  // namespace splitlet::config
