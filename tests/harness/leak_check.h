#pragma once

/// Finds leftovers of a test's node or runtime on the machine: resources of pods that did not exist
/// when the check was made. These are mounts, cgroups, links, network namespaces, addresses,
/// iptables rules, directories, files, sandboxes and containers. chaos runs use the same
/// implementation (libs/operate/host_resources.h).
/// Threads: one.
/// Errors:  a folder that cannot be watched fails the test.

#include <set>
#include <string>

#include "libs/fs/fd.h"
#include "libs/operate/host_resources.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::harness {

/// The names of all entries that appear in a folder, however briefly.
class CreatedNames {
 public:
  /// The folder is created if it is missing.
  explicit CreatedNames(const std::string& folder);
  const std::set<std::string>& All();

 private:
  const std::string folder_;
  fs::Fd inotify_;
  std::set<std::string> names_;
};

class LeakCheck {
 public:
  /// Construct it before the first pod. `places.root` and `places.containerd` must be set.
  LeakCheck(RuntimeView& view, operate::PodPlaces places);
  /// One line for each leftover; empty: none.
  std::set<std::string> Left();
  /// After a kill of the runtime: those among `left` that no agent can remove through it. They are
  /// removed by hand.
  std::set<std::string> RemoveRuntimeLeaks(const std::set<std::string>& left);

 private:
  std::set<std::string> Now();

  RuntimeView& view_;
  const operate::PodPlaces places_;
  CreatedNames tasks_, pods_;
  const std::set<std::string> before_;
};

}  // namespace splitlet::harness
