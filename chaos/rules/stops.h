#pragma once

/// Containers that must end because their pod was removed or changed. Filled by Checker, read by
/// the rules `grace`, `order` and `unwanted`.
/// Threads: one; asks the node when a container ended.
/// Errors:  none.

#include <map>
#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/rules/disturbances.h"
#include "chaos/rules/wanted_pods.h"

namespace splitlet::chaos {

struct Stop {
  std::string pod, container, name, witness;  // container: id
  WallTime removed;
  Duration grace{0};
  bool ignores_term = false;
  bool may_live = false;  // the same UID was created again before the agent had to notice the
                          // removal
};

struct EndedStop {
  Stop stop;
  WallTime ended;
  bool exact = false;  // the time is the runtime's; otherwise that of the inspection
};

class Stops {
 public:
  Stops(Node& node, const Disturbances& disturbances) : node_(node), disturbances_(disturbances) {}

  /// `before`: the pod as wanted until now; null: the pod was not wanted.
  void OnPut(const WantedPod* before, const PodToRun& pod, const Snapshot& last);
  void OnRemoved(const WantedPod& pod, WallTime at, const Snapshot& last);
  /// Finds the containers that have ended. Call when the runtime answered.
  void OnInspected(const Snapshot& snapshot);
  /// Clears ended(). Call after the rules have read it.
  void ForgetEnded();

  /// All stops, including those of ended(), by container id.
  const std::map<std::string, Stop>& all() const { return stops_; }
  /// Containers that ended since the last inspection, except through a fault.
  const std::vector<EndedStop>& ended() const { return ended_; }

 private:
  Node& node_;
  const Disturbances& disturbances_;
  std::map<std::string, Stop> stops_;
  std::vector<EndedStop> ended_;
  std::vector<std::string> over_;  // ids of ended(), and of containers that a fault ended
};

}  // namespace splitlet::chaos
