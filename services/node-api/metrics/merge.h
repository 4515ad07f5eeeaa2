#pragma once

/// The metrics of all processes as those of one kubelet.
/// Threads: one at a time; a line that is no metric is left out.
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

/// Says which families.
using Wanted = std::function<bool(std::string_view family)>;

class MetricsMerger {
 public:
  /// What each process has of its own (process_*, splitlet_*) gets the label `process`. Of the rest
  /// counters, histograms and the counts of summaries with the same labels are added up, of all
  /// rounds of this merger so that no sum goes down; of all else the first one stands.
  std::string Merge(const std::vector<Scraped>& scraped, const Wanted& wanted);

 private:
  struct Family {
    std::string help, type;
    std::vector<std::string> order;        // of series, as they came
    std::map<std::string, double> values;  // by name and labels, of this round
  };
  std::string FamilyOf(std::string_view name) const;
  void AddComment(std::string_view line);
  void AddSample(std::string_view line, const std::string& process, Shares::Answer& answer);
  void Add(Family& family, const std::string& series, double value, bool sum) const;

  std::map<std::string, Family> families_;  // also of those that nobody shows any more
  Shares shares_;
};

/// The same of one round.
std::string MergeMetrics(const std::vector<Scraped>& scraped, const Wanted& wanted);

}  // namespace splitlet::node_api
