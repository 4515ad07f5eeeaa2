#pragma once

/// Routes each allowed request to the part that answers its path.
/// In:    allowed requests.
/// Owns:  the parts: log streams, pod streams, checkpoints, stats, gathered metrics, log levels,
///        health.
/// Out:   answers.
/// Killed at any line: clients repeat their requests.
/// Threads: loop thread; blocking work on strands.
/// Errors: as answers.
/// Source: docs/behaviour/node-api.md, "Paths".

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/https/server.h"
#include "services/node-api/checkpoints/checkpoints.h"
#include "services/node-api/config.h"
#include "services/node-api/http/routed_request.h"
#include "services/node-api/logs/log_streams.h"
#include "services/node-api/logs/node_log_query.h"
#include "services/node-api/metrics/cadvisor.h"
#include "services/node-api/metrics/gather.h"
#include "services/node-api/pages/health.h"
#include "services/node-api/pages/log_levels.h"
#include "services/node-api/pages/zpages.h"
#include "services/node-api/pods/pod_views.h"
#include "services/node-api/stats/stats_cache.h"
#include "services/node-api/streaming/pod_streams.h"

namespace splitlet::node_api {

struct EndpointDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  exec::Strands& log_strands;  // a thread for each log stream
  fs::FileSystem& files;
  const Log& log;
  PodViews& pods;
  std::shared_ptr<logs::LogFiles> log_files;  // log files of the node
  std::function<std::shared_ptr<logs::LogFiles>(const std::string& container_id)> container_files;
  std::function<std::unique_ptr<logs::LogWatch>(const std::string& path)> watch_log;
  std::shared_ptr<PodCalls> pod_calls;
  std::shared_ptr<StatsSource> stats;
  std::shared_ptr<MetricsSource> processes;
  std::shared_ptr<LevelTarget> levels;
  std::vector<std::string> process_names;  // all processes except node-api
  std::function<std::string()> own_metrics;
  std::function<Status(const Deadline& deadline)> ask_sync_loop;
  MachineLabels machine;
  process::ProgramRunner run_program;
  fs::WithinReader read_within;  // for the node's log folder, like hold_below
  PathHolder hold_below;
};

class Endpoints {
 public:
  static constexpr int kMaxLogQueries = 4;  // each running query takes a thread

  Endpoints(EndpointDeps deps, const NodeApiConfig& config);
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  void Start();
  void Serve(RoutedRequest asked);
  void Stop() {
    log_streams_.Stop();
    checkpoints_.Stop();
  }

 private:
  void ServePods(const RoutedRequest& asked);
  void ServeRunningPods(const RoutedRequest& asked);
  void ServeContainerLog(const RoutedRequest& asked);
  void ServeNodeLog(const RoutedRequest& asked);
  void ServeNodeLogQuery(const NodeLogQuery& query, std::shared_ptr<https::Responder> responder);
  void ServeSummary(const RoutedRequest& asked);
  void ServeMetrics(const RoutedRequest& asked);
  void ServeStats(const RoutedRequest& asked);
  void ServeSlis(const RoutedRequest& asked);

  EndpointDeps deps_;
  const NodeApiConfig& config_;
  HealthChecks health_;
  LogStreams log_streams_;
  PodStreams pod_streams_;
  Checkpoints checkpoints_;
  StatsCache stats_, details_;  // details_: only for /metrics/cadvisor
  Gather gather_;
  // Used on the strand "merge" only.
  const std::shared_ptr<MetricsMerger> merger_ = std::make_shared<MetricsMerger>();
  // key: whether for probes
  std::map<bool, std::vector<std::shared_ptr<https::Responder>>> metrics_askers_;
  LogLevels log_levels_;
  ZPages zpages_;
  int log_queries_ = 0;          // number of running queries
  uint64_t last_log_query_ = 0;  // makes the name of each query's strand
  const exec::Asker asker_;      // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
