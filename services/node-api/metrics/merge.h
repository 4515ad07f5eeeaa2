#pragma once

/// Merges the metrics of all processes into those of one kubelet.
/// Threads: one at a time.
/// Errors:  none; a line that is no metric is left out.
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
  /// the others, counters, histograms and counts of summaries with the same labels are added up
  /// over all rounds of this merger, so that no sum goes down. For gauges the first process's value
  /// counts.
  std::string Merge(const std::vector<Scraped>& scraped, const Wanted& wanted);

 private:
  struct Family {
    std::string help, type;
    std::vector<std::string> order;        // series, as they came
    std::map<std::string, double> values;  // by name and labels, of this round
  };
  std::string FamilyOf(std::string_view name) const;
  void AddComment(std::string_view line);
  void AddSample(std::string_view line, const std::string& process, Shares::Answer& answer);
  void Add(Family& family, const std::string& series, double value, bool sum) const;

  std::map<std::string, Family> families_;  // including families that no process has any longer
  Shares shares_;
};

/// The merge of one round.
std::string MergeMetrics(const std::vector<Scraped>& scraped, const Wanted& wanted);

}  // namespace splitlet::node_api
