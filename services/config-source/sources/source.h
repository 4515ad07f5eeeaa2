#pragma once

/// What a source of pods delivers: always the whole of what it wants on this node, never a change.
/// A source keeps the last good version of what it cannot read, so a set never lacks a pod because
/// of a failure.
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

/// A decoded, defaulted, valid pod with its identity; without what the merge adds.
struct SourcePod {
  std::string uid, name, name_space;
  std::string origin;                        // manifest's path or URL
  std::shared_ptr<const std::string> bytes;  // serialised Pod, equal for equal pods
  bool mirror = false;                       // the API's image of a static pod: never to run
  bool unconfirmed = false;  // remembered from another boot, and nobody has confirmed it since
};
using SourcePodRef = std::shared_ptr<const SourcePod>;

struct WantedPod {
  SourcePodRef pod;
  std::string problem;       // why this is the last good version; empty when it is the newest
  bool unconfirmed = false;  // remembered from another boot: starts and stops nothing
};

/// What somebody must mend, and where.
struct Problem {
  std::string where;   // file or URL
  std::string reason;  // with line and field where known
  WallTime since;
  bool operator==(const Problem&) const = default;
};

struct SourceSet {
  std::vector<WantedPod> pods;
  std::set<std::string>
      undecided;  // UIDs remembered from before this start and not looked at yet: stay as they are
  bool complete = false;  // all that the source wants is in `pods`
  std::string reason;     // why not complete
  std::vector<Problem> problems;
  std::vector<SourcePodRef> duplicates;  // second pods of a full name, left out of `pods`
};

class Source {
 public:
  using OnSet = std::function<void(const SourceSet& set)>;
  virtual ~Source() = default;
  virtual const std::string& name() const = 0;
  /// Path or URL, for people.
  virtual const std::string& place() const = 0;
  /// Once. `remembered`: pods of this source that were wanted when the process last ran.
  virtual void Start(std::vector<SourcePodRef> remembered, OnSet on_set) = 0;
};

}  // namespace splitlet::config_source
