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
  /// Time when the pod was created; nullopt if leftovers of an earlier incarnation existed then.
  std::optional<WallTime> new_incarnation;
};

class WantedPods {
 public:
  /// `last`: the newest snapshot before the pod was created.
  void Put(const PodToRun& pod, const std::string& full_name, const Snapshot& last);
  void Remove(const std::string& name);

  /// Wanted pods by short name.
  const std::map<std::string, WantedPod>& all() const { return wanted_; }
  /// Null: no such pod is wanted.
  const WantedPod* Find(const std::string& name) const;
  /// How often the pod of this short name was created.
  int Incarnations(const std::string& name) const;

  /// True if a pod of this full name was ever created.
  bool IsOurs(const std::string& full_name) const { return known_.contains(full_name); }
  /// The short name of a pod of this round.
  const std::string& ShortName(const std::string& full_name) const;
  /// The template of a pod; null: the pod is not of this round.
  const PodTemplate* TemplateOf(const std::string& full_name) const;
  /// True for a pod of this round that is no longer wanted.
  bool IsUnwanted(const std::string& full_name) const;

 private:
  struct Known {
    std::string name;
    const PodTemplate* from = nullptr;
  };
  std::map<std::string, WantedPod> wanted_;
  std::map<std::string, Known> known_;       // pods by full name
  std::map<std::string, int> incarnations_;  // incarnations by short name
};

}  // namespace splitlet::chaos
