#pragma once

/// `get pods -w`: what is new to be printed each time that the pods are looked at.
/// Threads: one.
/// Errors: none.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctl/commands_get.h"
#include "ctl/pods.h"
#include "libs/base/clock.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

PodTableOptions TableOptions(const GetOptions& options, const std::vector<operate::PodView>& pods);
/// "pod/web", a line for each.
std::string NameLines(const std::vector<operate::PodView>& pods);

class PodChanges {
 public:
  explicit PodChanges(GetOptions options) : options_(std::move(options)) {}
  /// Rows of those that came or changed, under the header of the first time; with -o json or yaml
  /// each as a whole object. Ages change by themselves and are no change.
  std::string Take(const std::vector<operate::PodView>& pods, WallTime now);
  bool first() const { return first_; }

 private:
  std::string ShownOf(const operate::PodView& view, WallTime now) const;
  std::string Text(const std::vector<operate::PodView>& changed, WallTime now);

  const GetOptions options_;
  std::map<std::string, std::string> shown_;  // UID -> what was shown of it
  std::vector<size_t> widths_;
  bool first_ = true;
};

}  // namespace splitlet::ctl
