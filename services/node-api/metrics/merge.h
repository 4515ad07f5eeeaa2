#pragma once

/// Merges the metrics of all processes into those of one kubelet.
/// Threads: one at a time.
/// Errors:  none; malformed lines are left out.
/// Source: docs/behaviour/node-api.md, "Metrics"; docs/metrics.md, "node-api".

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/node-api/metrics/shares.h"

namespace splitlet::node_api {

struct Scraped {
  std::string process, text;
};

/// Chooses families.
using Wanted = std::function<bool(std::string_view family)>;

class MetricsMerger {
 public:
  /// Families that each process has for itself (process_*, splitlet_*) get the label `process`. In
  /// other families, counters, histograms and counts of summaries with the same labels are added
  /// over all processes, and no sum ever goes down. For gauges the value of the first process
  /// counts.
  std::string Merge(const std::vector<Scraped>& scraped, const Wanted& wanted);

 private:
  struct Family {
    std::string help, type;
    std::vector<std::string> order;        // series, in the order of arrival
    std::map<std::string, double> values;  // values of this round, by name and labels
  };
  std::string FamilyOf(std::string_view name) const;
  void AddComment(std::string_view line);
  void AddSample(std::string_view line, const std::string& process, Shares::Answer& answer);
  void Add(Family& family, const std::string& series, double value, bool sum) const;

  std::map<std::string, Family> families_;  // including families that no process has any more
  Shares shares_;
};

/// The merge of one round.
std::string MergeMetrics(const std::vector<Scraped>& scraped, const Wanted& wanted);

}  // namespace splitlet::node_api
