#pragma once

/// What a node of a test, or its runtime, has left on the machine: more than was there when the
/// check was made, of pods that were made since. Mounts, cgroups, links, network namespaces,
/// addresses, iptables rules, directories, files, sandboxes and containers. The same implementation
/// judges chaos runs (libs/operate/host_resources.h).
/// Threads: one.
/// Errors:  a folder that cannot be watched fails the test.

#include <set>
#include <string>

#include "libs/fs/fd.h"
#include "libs/operate/host_resources.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::harness {

/// The names that come into being in a folder, however briefly they are there.
class CreatedNames {
 public:
  /// The folder is made if it is not there.
  explicit CreatedNames(const std::string& folder);
  const std::set<std::string>& All();

 private:
  const std::string folder_;
  fs::Fd inotify_;
  std::set<std::string> names_;
};

class LeakCheck {
 public:
  /// Made before the first pod. `places.root` and `places.containerd` are given.
  LeakCheck(RuntimeView& view, operate::PodPlaces places);
  /// Each as a line; empty: nothing.
  std::set<std::string> Left();
  /// After the runtime was killed: of `left`, what nobody can have removed through it. It is
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
