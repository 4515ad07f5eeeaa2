#pragma once

/// `get pods -w`: which pods to print after each list.
/// Threads: one.
/// Errors: none.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctl/commands/get.h"
#include "ctl/show/pods.h"
#include "libs/base/clock.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

PodTableOptions TableOptions(const GetOptions& options, const std::vector<operate::PodView>& pods);
/// "pod/web", a line for each.
std::string NameLines(const std::vector<operate::PodView>& pods);

class PodChanges {
 public:
  explicit PodChanges(GetOptions options) : options_(std::move(options)) {}
  /// Rows of the pods that are new or changed, with the header the first time; with -o json or yaml
  /// whole objects. A new age alone is no change.
  std::string Take(const std::vector<operate::PodView>& pods, WallTime now);
  bool first() const { return first_; }

 private:
  std::string ShownOf(const operate::PodView& view, WallTime now) const;
  std::string Text(const std::vector<operate::PodView>& changed, WallTime now);

  const GetOptions options_;
  std::map<std::string, std::string> shown_;  // UID -> row last printed
  std::vector<size_t> widths_;
  bool first_ = true;
};

}  // namespace splitlet::ctl
