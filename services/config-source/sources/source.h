#pragma once

/// A source of pods. It delivers sets: always all pods that it wants on this node, never a change.
/// A source keeps the last good version of a pod that it cannot read, so no failure removes a pod
/// from a set.
/// Threads: loop thread only.
/// Errors: as reason and problems of a set.
/// Source: docs/behaviour/config-sources.md, "Sources"; docs/safety.md, rule 9.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::config_source {

/// A source that becomes empty wants no pods only when it was empty twice, this far apart.
inline constexpr Duration kPathMissingGap = std::chrono::seconds{20};

/// A decoded, defaulted, valid pod with its identity, without the annotations that the merge adds.
struct SourcePod {
  std::string uid, name, name_space;
  std::string origin;                        // manifest's path or URL
  std::shared_ptr<const std::string> bytes;  // serialised Pod, equal for equal pods
  bool mirror = false;                       // the API's image of a static pod: never to run
  bool unconfirmed = false;  // saved in another boot, and not delivered by its source since
};
using SourcePodRef = std::shared_ptr<const SourcePod>;

struct WantedPod {
  SourcePodRef pod;
  std::string problem;       // why this is not the newest version; empty when it is
  bool unconfirmed = false;  // saved in another boot: starts and stops nothing
};

/// A fault that needs a correction, and its place.
struct Problem {
  std::string where;   // file or URL
  std::string reason;  // with line and field where known
  WallTime since;
  bool operator==(const Problem&) const = default;
};

struct SourceSet {
  std::vector<WantedPod> pods;
  /// UIDs saved before this start whose manifests are not read yet: their records stay as they are.
  std::set<std::string> undecided;
  bool complete = false;  // `pods` has all pods that the source wants
  std::string reason;     // why not complete
  std::vector<Problem> problems;
  std::vector<SourcePodRef> duplicates;  // second pods of a full name, not in `pods`
};

class Source {
 public:
  using OnSet = std::function<void(const SourceSet& set)>;
  virtual ~Source() = default;
  virtual const std::string& name() const = 0;
  /// Path or URL, for people.
  virtual const std::string& place() const = 0;
  /// Called once. `saved`: the pods of this source that were wanted when the process last ran.
  virtual void Start(std::vector<SourcePodRef> saved, OnSet on_set) = 0;
};

}  // namespace splitlet::config_source
