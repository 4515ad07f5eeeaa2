#pragma once

/// Runs a process: makes the ServiceContext, runs the service, stops in order.
/// Threads: Start and Stop on the main thread; the context as service.h says.
/// Errors: Start's, one line.
/// Source: docs/design.md, "Start and end"; docs/safety.md, rules 1 and 4.

#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/access.h"
#include "libs/daemon/event_recorder.h"
#include "libs/daemon/flags.h"
#include "libs/daemon/idle_trim.h"
#include "libs/daemon/lock_file.h"
#include "libs/daemon/log_sink.h"
#include "libs/daemon/metrics.h"
#include "libs/daemon/metrics_port.h"
#include "libs/daemon/process_health.h"
#include "libs/daemon/restart_count.h"
#include "libs/daemon/service.h"
#include "libs/daemon/tracing.h"
#include "libs/exec/loop_thread.h"
#include "libs/exec/periodic.h"
#include "libs/exec/strand_pool.h"
#include "libs/fs/real_file_system.h"
#include "libs/rpc/call_limits.h"
#include "libs/rpc/call_metrics.h"
#include "libs/rpc/rpc.h"
#include "libs/trace/exporter.h"

namespace splitlet::bus {
class NatsBus;
}
namespace splitlet::v1 {
class ProcessInfo;
}

namespace splitlet::daemon {

class Process final : public ServiceContext {
 public:
  /// Without a plan the process exports no traces.
  Process(Flags flags, config::KubeletConfig config, const std::optional<TracingPlan>& tracing);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Status Start(const MakeService& make);
  /// The process was asked to stop: the next start reports "stopped" and not "died".
  void RecordStop();
  void Stop();
  bool live() const { return health_.Live().ready; }

  const Flags& flags() const override { return flags_; }
  const config::KubeletConfig& config() const override { return config_; }
  const Clock& clock() const override { return clock_; }
  exec::EventLoop& loop() override { return loop_; }
  exec::Strands& strands() override { return strands_; }
  bus::Bus& bus() override;
  fs::FileSystem& files() override { return files_; }
  const Log& log() const override { return log_; }
  prometheus::Registry& metrics() override { return registry_; }
  EventRecorder& events() override { return recorder_; }
  std::shared_ptr<grpc::Channel> Peer(const std::string& process) override;

 private:
  void StartTracing(const TracingPlan& plan);
  std::string RunPath(const std::string& name) const;
  void LogIgnoredConfig();
  Status TakePlaces();
  Status StartHttp();
  Status StartBus();
  Status StartService(const MakeService& make);
  void ReportFailedSetup(const Status& why);
  Status StartRpc();
  void Tick();
  /// Health of the loop, the service and the network. Any thread.
  Health Ready() const;
  HttpReply Serve(const std::string& path);
  std::string ServeMetrics();
  void Describe(v1::ProcessInfo& info) const;
  StatusOr<std::vector<std::string>> DiscardRecord(const std::string& uid);
  LogLevel SetLogLevel(LogLevel level);
  Status SendEvents(const std::vector<PodEvent>& events);

  const Flags flags_;
  const config::KubeletConfig config_;
  const RealClock clock_;
  const Access access_;
  const WallTime started_at_;
  StderrSink sink_;
  const Log log_;
  prometheus::Registry registry_;
  Metrics metrics_;
  rpc::CallMetrics call_metrics_;
  rpc::CallLimits call_limits_;
  trace::TraceMetrics trace_metrics_;
  std::shared_ptr<trace::Exporter> exporter_;  // nullptr: traces are not exported
  fs::RealFileSystem files_;
  std::optional<LockFile> lock_;
  RestartCount start_;
  ProcessHealth health_;
  exec::LoopThread loop_;
  exec::StrandPool strands_;
  std::mutex peers_mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> peers_;
  BatchingRecorder recorder_;
  MetricsPort port_;
  std::thread loop_thread_;
  std::unique_ptr<bus::NatsBus> bus_;     // used and destroyed on the loop
  std::unique_ptr<Service> service_;      // used and destroyed on the loop
  std::unique_ptr<exec::Periodic> tick_;  // used and destroyed on the loop
  struct {
    uint64_t count = 0;
    IdleTrim trim;
  } ticks_;  // used on the loop
  std::unique_ptr<grpc::Service> admin_;
  std::vector<std::unique_ptr<grpc::Service>> guarded_;  // what is served
  std::unique_ptr<rpc::Server> rpc_;
};

}  // namespace splitlet::daemon
