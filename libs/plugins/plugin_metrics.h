#pragma once

/// plugin_manager_total_plugins: a series for each socket and state. No socket, no series.
/// Threads: one.
/// Source:  kubelet pluginmanager metrics.

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace splitlet::plugins {

class PluginMetrics {
 public:
  explicit PluginMetrics(prometheus::Registry& registry)
      : total_(prometheus::BuildGauge()
                   .Name("plugin_manager_total_plugins")
                   .Help("Number of plugins in Plugin Manager")
                   .Register(registry)) {}

  /// Paths of the sockets.
  void Set(const std::set<std::string>& desired, const std::set<std::string>& actual) {
    SetState("desired_state_of_world", desired);
    SetState("actual_state_of_world", actual);
  }

 private:
  void SetState(const std::string& state, const std::set<std::string>& paths) {
    auto& gauges = gauges_[state];
    std::erase_if(gauges, [&](const auto& entry) {
      if (paths.contains(entry.first)) return false;
      total_.Remove(&entry.second.get());
      return true;
    });
    for (const auto& path : paths) {
      if (gauges.contains(path)) continue;
      prometheus::Gauge& gauge = total_.Add({{"socket_path", path}, {"state", state}});
      gauge.Set(1);
      gauges.emplace(path, gauge);
    }
  }

  prometheus::Family<prometheus::Gauge>& total_;
  std::map<std::string, std::map<std::string, std::reference_wrapper<prometheus::Gauge>>> gauges_;
};

}  // namespace splitlet::plugins
