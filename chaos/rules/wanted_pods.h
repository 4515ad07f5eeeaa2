#pragma once

/// The pods of a round: which must run now, and which names were ever used. Filled by Checker, read
/// by the rules.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <optional>
#include <string>

#include "chaos/node/node.h"

namespace splitlet::chaos {

struct WantedPod {
  PodToRun pod;
  std::string full_name;
  /// When the pod was put; nullopt if something of an earlier incarnation was left at that time.
  std::optional<WallTime> new_incarnation;
};

class WantedPods {
 public:
  /// `last`: the newest snapshot before the pod was put.
  void Put(const PodToRun& pod, const std::string& full_name, const Snapshot& last);
  void Remove(const std::string& name);

  /// By short name.
  const std::map<std::string, WantedPod>& all() const { return wanted_; }
  /// Null: the pod is not wanted.
  const WantedPod* Find(const std::string& name) const;
  /// How often the pod of this short name was created.
  int Incarnations(const std::string& name) const;

  /// Whether a pod of this full name was ever put.
  bool IsOurs(const std::string& full_name) const { return known_.contains(full_name); }
  /// The pod's short name; the pod is ours.
  const std::string& ShortName(const std::string& full_name) const;
  /// The pod's template; null: the pod is not ours.
  const PodTemplate* TemplateOf(const std::string& full_name) const;
  /// The pod is ours, and no longer wanted.
  bool IsUnwanted(const std::string& full_name) const;

 private:
  struct Known {
    std::string name;
    const PodTemplate* from = nullptr;
  };
  std::map<std::string, WantedPod> wanted_;
  std::map<std::string, Known> known_;       // by full name
  std::map<std::string, int> incarnations_;  // by short name
};

}  // namespace splitlet::chaos
