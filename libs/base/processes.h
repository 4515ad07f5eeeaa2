#pragma once

/// The table of a node's processes: tables and views, callers, ports, limits of health. Rights of
/// callers, owners of tables, splitletctl and the tests' harness read this table; scripts/lint.py
/// compares packages, compose, alerts and scripts with it.
/// Threads: constants.
/// Source: ARCHITECTURE.md; docs/design.md, "The calls".

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet {

/// kClusterNode: only on a node with an API server (docs/cluster.md).
enum class RunsOn { kEveryNode, kClusterNode };

/// Lists have the form "sync-loop|gc"; an empty string means none.
struct ProcessRow {
  std::string_view name;     // the program is splitlet-NAME
  std::string_view table;    // owned by the process
  std::string_view views;    // tables of other processes, which this one may list
  uint16_t port = 0;         // of metrics and health, in packages and compose
  Duration health_limit{0};  // after this silence the node is not ready; 0: status ignores the
                             // process
  bool calls_runtime = false;
  RunsOn runs_on = RunsOn::kEveryNode;
};

inline constexpr auto kProcesses = std::to_array<ProcessRow>({
    {"config-source", "desired", "workers", 10271, std::chrono::minutes{5}},
    {"sync-loop", "admission", "desired|runtime|workers|pressure|podstatus", 10272,
     std::chrono::minutes{5}},
    {"pod-worker", "workers", "desired|podstatus", 10273, std::chrono::minutes{5}, true},
    {"pleg", "runtime", "", 10274, std::chrono::minutes{3}, true},
    {"status", "podstatus", "desired|admission|workers|runtime|pressure", 10275},
    {"gc", "pressure", "desired|workers|runtime", 10276, std::chrono::minutes{5}, true},
    {"node-api", "", "desired|runtime|podstatus", 10277, {}, false, RunsOn::kClusterNode},
});

/// Callers of a method, in addition to Tables.List of viewed tables. "*": each process.
struct CallRight {
  std::string_view process;
  std::string_view method;  // without "splitlet.v1."
  std::string_view callers;
};

inline constexpr auto kCallRights = std::to_array<CallRight>({
    {"*", "Admin/GetProcess", "status|node-api"},
    {"*", "Admin/SetLogLevel", "node-api"},
    {"config-source", "ConfigSource/GetPod", "sync-loop|pod-worker|gc|status"},
    {"pod-worker", "PodWorker/UpdatePod", "sync-loop"},
    {"pod-worker", "PodWorker/KillPod", "sync-loop|gc"},
    {"pod-worker", "PodWorker/HoldForRemoval", "gc"},
    {"pod-worker", "PodWorker/ReleaseHold", "gc"},
    {"pod-worker", "PodWorker/TakeDownVolumes", "gc"},
    {"pod-worker", "PodWorker/ListWorkers", "status"},
    {"pod-worker", "PodStreams/OpenStream", "node-api"},
    {"pod-worker", "PodStreams/RunCommand", "node-api"},
    {"pod-worker", "PodCheckpoints/Checkpoint", "node-api"},
    {"gc", "NodeImages/ListImages", "status"},
    {"pleg", "Pleg/GetPodStatus", "status"},
    {"pleg", "Pleg/GetHealth", "status"},
    {"status", "Status/RecordEvent", "*"},
    {"gc", "NodeStats/GetNodeStats", "node-api"},
});

/// True if the list "a|b" contains `name`.
constexpr bool IsListed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const auto bar = list.find('|');
    if (list.substr(0, bar) == name) return true;
    list.remove_prefix(bar == std::string_view::npos ? list.size() : bar + 1);
  }
  return false;
}

/// nullptr if there is no such process.
constexpr const ProcessRow* FindProcess(std::string_view name) {
  const auto* row = std::ranges::find(kProcesses, name, &ProcessRow::name);
  return row == kProcesses.end() ? nullptr : row;
}

/// The processes of every node, in the order in which a pod passes them.
inline const std::vector<std::string>& ProcessNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ProcessRow& row : kProcesses)
      if (row.runs_on == RunsOn::kEveryNode) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

/// The additional processes of a node with an API server.
inline const std::vector<std::string>& ClusterProcessNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ProcessRow& row : kProcesses)
      if (row.runs_on == RunsOn::kClusterNode) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

}  // namespace splitlet
