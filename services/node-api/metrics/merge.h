#pragma once

/// The metrics of all processes as those of one kubelet.
/// Threads: any; a line that is no metric is left out.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace splitlet::node_api {

struct Scraped {
  std::string process, text;
};

/// What each process has of its own (process_*, splitlet_*) gets the label `process`. Of the rest
/// counters and histograms with the same labels are added up, and of gauges the first one stands.
/// `wanted` says which families.
using Wanted = std::function<bool(std::string_view family)>;
std::string MergeMetrics(const std::vector<Scraped>& scraped, const Wanted& wanted);

}  // namespace splitlet::node_api
