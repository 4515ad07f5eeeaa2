#pragma once

/// The process node-api: the kubelet's HTTPS API, for kubectl, scrapers and the API server.
/// In:    views desired, podstatus, runtime; requests of its ports; answers of the other processes.
/// Owns:  no table; its parts: Listeners, RequestFilter, Endpoints.
/// Out:   answers; calls to the API server, gc, pod-worker and sync-loop; for metrics and
///        log levels, to every process.
/// Killed at any line: connections end, and the next start serves again; no process depends on it.
/// Threads: loop thread; blocking work on strands; a thread for each port.
/// Errors: see each part.
/// Source: docs/behaviour/node-api.md.

#include <memory>
#include <string>
#include <vector>

#include "libs/daemon/service.h"
#include "services/node-api/config.h"
#include "services/node-api/endpoints.h"
#include "services/node-api/http/metrics.h"
#include "services/node-api/listeners.h"
#include "services/node-api/request_filter.h"

namespace splitlet::node_api {

struct NodeApiDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  exec::Strands& log_strands;  // a thread for each log stream
  fs::FileSystem& files;
  PodViews::Views views;
  std::shared_ptr<Reviewer> reviewer;  // null: there is no API server
  std::shared_ptr<PodCalls> pod_calls;
  std::shared_ptr<StatsSource> stats;
  std::shared_ptr<MetricsSource> processes;
  std::shared_ptr<LevelTarget> levels;
  std::vector<std::string> process_names;
  std::function<Status(const Deadline& deadline)> ask_sync_loop;
  std::shared_ptr<logs::LogFiles> log_files;  // log files of the node
  std::function<std::shared_ptr<logs::LogFiles>(const std::string& container_id)> container_files;
  std::function<std::unique_ptr<logs::LogWatch>(const std::string& path)> watch_log;
  Listeners::StartServer start_server;
  MachineLabels machine;
  process::ProgramRunner run_program;
  fs::WithinReader read_within;  // for the node's log folder, like hold_below
  PathHolder hold_below;
  std::string secret;  // random for each start, unknown to other processes
  Log log;
  prometheus::Registry& metrics;
};

class NodeApiService final : public daemon::Service {
 public:
  NodeApiService(NodeApiDeps deps, NodeApiConfig config);
  NodeApiService(const NodeApiService&) = delete;
  NodeApiService& operator=(const NodeApiService&) = delete;

  void Start() override;
  daemon::Health GetHealth() const override;
  void BeginStop() override { endpoints_.Stop(); }
  void WaitStopped() override { listeners_.Stop(std::chrono::milliseconds{500}); }
  std::vector<std::string> Notes() const override { return listeners_.Notes(); }
  std::vector<grpc::Service*> GrpcServices() override { return {}; }

  void OnRequest(Surface surface, https::Request request,
                 std::shared_ptr<https::Responder> responder) {
    filter_.OnRequest(surface, std::move(request), std::move(responder));
  }

 private:
  NodeApiDeps deps_;
  const NodeApiConfig config_;
  NodeApiMetrics metrics_;
  PodViews pods_;
  Endpoints endpoints_;
  RequestFilter filter_;
  Listeners listeners_;
};

}  // namespace splitlet::node_api
