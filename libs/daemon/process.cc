#include "libs/daemon/process.h"

#include <fmt/ranges.h>
#include <grpcpp/channel.h>
#include <malloc.h>
#include <net/if.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <random>

#include "libs/base/fail_point.h"
#include "libs/base/one_line.h"
#include "libs/base/processes.h"
#include "libs/base/text.h"
#include "libs/bus/nats_bus.h"
#include "libs/daemon/admin.h"
#include "libs/daemon/event_record.h"
#include "libs/daemon/mapped_files.h"
#include "libs/exec/on_loop.h"
#include "libs/fs/unfinished.h"
#include "libs/rpc/guard.h"
#include "splitlet/v1/checkpoints.grpc.pb.h"
#include "splitlet/v1/node_images.grpc.pb.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "splitlet/v1/stats.grpc.pb.h"
#include "splitlet/v1/streams.grpc.pb.h"

namespace splitlet::daemon {
namespace {

constexpr Duration kTickPeriod = 1s;
constexpr uint64_t kTicksPerPort = 3;
constexpr size_t kKeptFree = 64 << 10;
constexpr Duration kSendLimit = 2s;
constexpr Duration kRpcGrace = 300ms;
constexpr Duration kDiscardLimit = 10s;
constexpr int kMaxRpcThreads = 64, kMaxOtherCalls = 40;  // of which: those without a reserve
constexpr Duration kLongestCall = 60s;

/// CPU time of all threads since the start.
Duration CpuTime() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

/// All processes of a node read the same file; one of them reports its errors.
bool LogsConfigFile(std::string_view process) {
  return process == "status" || FindProcess(process) == nullptr;
}

std::string_view StateName(bus::ViewState state) {
  switch (state) {
    case bus::ViewState::kSyncing: return "syncing";
    case bus::ViewState::kLive: return "live";
    case bus::ViewState::kStale: return "stale";
  }
  UNREACHABLE();
}

/// "splitlet.v1.Pleg"; empty: none of ours.
std::string NameOf(const grpc::Service& service) {
  std::string name;
  const auto is = [&]<class T>() {
    if (dynamic_cast<const typename T::Service*>(&service) != nullptr)
      name = T::service_full_name();
  };
  is.operator()<v1::Admin>();
  is.operator()<v1::Tables>();
  is.operator()<v1::ConfigSource>();
  is.operator()<v1::SyncLoop>();
  is.operator()<v1::PodWorker>();
  is.operator()<v1::PodStreams>();
  is.operator()<v1::PodCheckpoints>();
  is.operator()<v1::Pleg>();
  is.operator()<v1::Status>();
  is.operator()<v1::Gc>();
  is.operator()<v1::NodeImages>();
  is.operator()<v1::NodeStats>();
  return name;
}

}  // namespace

Process::Process(Flags flags, config::KubeletConfig config,
                 const std::optional<TracingPlan>& tracing)
    : flags_(std::move(flags)),
      config_(std::move(config)),
      access_(flags_.process, config_.splitlet.users, geteuid()),
      started_at_(clock_.WallNow()),
      sink_(clock_, {.origin = {flags_.process, getpid()},
                     .json = flags_.log_format == "json",
                     .level = LevelOf(flags_.log_level).value_or(LogLevel::kInfo)}),
      log_(sink_),
      metrics_(registry_, flags_.process, Version()),
      call_metrics_(registry_),
      call_limits_(&LimitsOf, kMaxOtherCalls, kLongestCall, clock_),
      trace_metrics_(registry_),
      health_(clock_),
      loop_(clock_),
      strands_({.max_threads = static_cast<size_t>(config_.splitlet.max_blocking_threads)}),
      recorder_(
          {.loop = loop_,
           .strands = strands_,
           .send = [this](const std::vector<PodEvent>& events) { return SendEvents(events); },
           .on_sent = [this](size_t n) { metrics_.events_sent.Increment(static_cast<double>(n)); },
           .on_dropped =
               [this](size_t n) { metrics_.events_dropped.Increment(static_cast<double>(n)); }}),
      port_(
          {.address = flags_.http_address, .file = RunPath("http.addr")},
          [this](const std::string& path) { return Serve(path); }, files_, log_) {
  metrics_.start_time.Set(static_cast<double>(ToNanos(started_at_)) / 1e9);
  if (tracing) StartTracing(*tracing);
}

void Process::StartTracing(const TracingPlan& plan) {
  std::random_device random;  // span ids differ between processes and starts
  exporter_ = std::make_shared<trace::Exporter>(
      trace::Exporter::Deps{.clock = clock_,
                            .log = log_,
                            .metrics = trace_metrics_,
                            .sender = trace::MakeSender(plan.collector, clock_)},
      trace::Exporter::Options{.origin = {flags_.process, flags_.node_name, Version()},
                               .endpoint = plan.collector.endpoint,
                               .sample_per_million = plan.sample_per_million,
                               .seed = (uint64_t{random()} << 32) | random()});
  SpanSink::SetCurrent(exporter_);
}

Process::~Process() {
  Stop();
  if (exporter_ != nullptr) SpanSink::SetCurrent(nullptr);
}

std::string Process::RunPath(const std::string& name) const {
  return flags_.run_dir + "/" + flags_.process + "/" + name;
}

/// Without this line a node would look as safe as its file reads.
void Process::LogIgnoredConfig() {
  const LogLevel level = LogsConfigFile(flags_.process) ? LogLevel::kWarn : LogLevel::kDebug;
  if (!config_.passed_over.empty())
    log_.At(level, "Using lenient decoding as strict decoding failed",
            {KV("file", flags_.config_file), KV("err", config_.passed_over)});
  if (config_.without_effect.empty()) return;
  log_.At(level, "configuration fields have no effect",
          {KV("file", flags_.config_file),
           KV("fields", fmt::format("{}", fmt::join(config_.without_effect, ", "))),
           KV("see", "docs/configuration.md")});
  for (const std::string& field : config_.without_effect)
    metrics_.config_ignored.Add({{"field", field}}).Set(1);
}

Status Process::Start(const MakeService& make) {
  LogIgnoredConfig();
  if (Status taken = TakePlaces(); !taken.ok()) return taken;
  loop_.OnLag([this](Duration lag) {
    metrics_.loop_lag.Observe(std::chrono::duration<double>(lag).count());
  });
  loop_thread_ = std::thread([this] { loop_.Run(); });
  if (Status listening = StartHttp(); !listening.ok()) return listening;
  RETURN_IF_ERROR(StartBus(), "connect to the bus");
  Status made = OkStatus();
  exec::OnLoop(loop_, [&] { made = StartService(make); });
  if (!made.ok()) {
    ReportFailedSetup(made);
    return made;
  }
  RETURN_IF_ERROR(StartRpc(), "serve gRPC");
  log_.Info("started",
            {KV("version", Version()), KV("restarts", start_.before), KV("reason", start_.reason),
             KV("node", flags_.node_name), KV("metrics", port_.address())});
  return OkStatus();
}

/// Reports a failed start as a kubelet does. If status is away or is the failing process, only
/// stderr has the reason.
void Process::ReportFailedSetup(const Status& why) {
  if (flags_.process == "status") return;
  const std::string socket = rpc::SocketPath(flags_.run_dir, "status");
  if (!files_.Stat(socket, false).ok()) return;  // status does not run: do not wait for it
  const std::string text = fmt::format("splitlet-{}: {}", flags_.process, Message(why));
  const auto event = NodeEvent(flags_.node_name,
                               {.reason = "KubeletSetupFailed", .message = text, .warning = true});
  static_cast<void>(SendEvents({event}).ok());
}

/// The lock comes first: the next steps would take the sockets of a running process.
Status Process::TakePlaces() {
  ASSIGN_OR_RETURN(LockFile lock,
                   LockFile::Take(fmt::format("{}/{}.lock", flags_.state_dir, flags_.process)),
                   "lock");
  lock_.emplace(std::move(lock));
  RETURN_IF_ERROR(files_.MakeDirs(RunPath(""), 0750), "make {}", RunPath(""));
  // Unfinished files of the last start, in folders of this process alone.
  for (const std::string& folder : {flags_.run_dir, flags_.state_dir})
    log_.LogIfError(fs::RemoveUnfinished(files_, folder + "/" + flags_.process),
                    "remove unfinished files");
  ASSIGN_OR_RETURN(start_, CountStart(files_, clock_, RunPath("starts")), "run folder");
  metrics_.restarts.Set(static_cast<double>(start_.before));
  metrics_.start_reason.Add({{"reason", std::string(start_.reason)}}).Set(1);
  return OkStatus();
}

Status Process::StartHttp() {
  RETURN_IF_ERROR(files_.Remove(RunPath("http.addr")), "remove http.addr of an earlier start");
  const Status tried = port_.Try();
  if (tried.code() == StatusCode::kInvalidArgument) return Annotate(tried, "flags");
  return OkStatus();
}

Status Process::StartBus() {
  StatusOr<std::unique_ptr<bus::NatsBus>> made = Unknown("not tried");
  exec::OnLoop(loop_, [this, &made] {
    made = bus::ConnectBus({.process = flags_.process,
                            .node_name = flags_.node_name,
                            .run_dir = flags_.run_dir,
                            .nats_url = flags_.nats_url,
                            .nats_creds = flags_.nats_creds,
                            .nats_ca = flags_.nats_ca,
                            .loop = loop_,
                            .clock = clock_,
                            .metrics = registry_,
                            .log = log_,
                            .connect = [this](const std::string& name) { return Peer(name); }});
  });
  if (!made.ok()) return made.status();
  bus_ = std::move(*made);
  return OkStatus();
}

/// The last step, when the process can answer.
Status Process::StartRpc() {
  admin_ = MakeAdminService(flags_.process,
                            {[this](v1::ProcessInfo& info) { Describe(info); },
                             [this](const std::string& uid) { return DiscardRecord(uid); },
                             [this](LogLevel level) { return SetLogLevel(level); }});
  std::vector<grpc::Service*> services = {admin_.get(), &bus_->TablesService()};
  exec::OnLoop(loop_, [this, &services] {
    for (grpc::Service* service : service_->GrpcServices()) services.push_back(service);
  });
  rpc::ServerOptions options{
      .socket_path = rpc::SocketPath(flags_.run_dir, flags_.process),
      .max_threads = kMaxRpcThreads,
      .max_request_bytes = flags_.process == "pod-worker" ? 20 << 20 : 1 << 20,
      .limits = &call_limits_,
      .allowed_uids = access_.Callers(),
      .metrics = &call_metrics_};
  const auto may_call = [this](const std::string& method, uint32_t uid) {
    return access_.MayCall(method, uid);
  };
  for (grpc::Service* service : services) {
    ASSIGN_OR_RETURN(auto guarded, rpc::Guard(*service, NameOf(*service), may_call, call_limits_),
                     "guard");
    options.services.push_back(guarded.get());
    guarded_.push_back(std::move(guarded));
  }
  ASSIGN_OR_RETURN(rpc_, rpc::StartServer(std::move(options), log_), "socket");
  return OkStatus();
}

bus::Bus& Process::bus() { return *bus_; }

Status Process::StartService(const MakeService& make) {
  auto made = make(*this);
  if (!made.ok()) return made.status();
  service_ = std::move(*made);
  service_->Start();
  tick_ = std::make_unique<exec::Periodic>(loop_, kTickPeriod, [this] { Tick(); });
  Tick();
  return OkStatus();
}

void Process::RecordStop() {
  log_.LogIfError(daemon::RecordStop(files_, clock_, RunPath("starts")), "record the stop");
}

/// Strands end before the service that they use; the bus ends after the service.
void Process::Stop() {
  if (!loop_thread_.joinable()) return;
  exec::OnLoop(loop_, [this] {
    if (service_ != nullptr) service_->BeginStop();
  });
  if (rpc_ != nullptr) rpc_->Stop(kRpcGrace);
  rpc_.reset();
  if (service_ != nullptr) service_->WaitStopped();
  strands_.Stop();
  exec::OnLoop(loop_, [this] {
    tick_.reset();
    service_.reset();
    bus_.reset();
    loop_.Stop();  // in this step: timers of the service that is gone must not run
  });
  loop_thread_.join();
  port_.Stop();
}

void Process::Tick() {
  if (ticks_.trim.IsDue(CpuTime())) {
    malloc_trim(kKeptFree);
    ForgetPagesOfFiles();
  }
  strands_.Retry();
  if (++ticks_.count % kTicksPerPort == 0 && !port_.listens())
    strands_.Run("metrics-port", [this] { port_.Retry(); });
  health_.Set({.turned_at = clock_.Now(),
               .health = service_->GetHealth(),
               .bus_connected = bus_->connected(),
               .views = bus_->Views(),
               .notes = service_->Notes()});
}

/// When the container that owns this network is replaced, the interface disappears and loopback
/// stays: then this process never reaches peers that were started since.
Health Process::Ready() const {
  const std::string& interface = flags_.network_interface;
  if (!interface.empty() && if_nametoindex(interface.c_str()) == 0 && errno == ENODEV)
    return {.ready = false,
            .reason = fmt::format("the network of this process is gone: it has no interface {}",
                                  interface)};
  return health_.Ready();
}

HttpReply Process::Serve(const std::string& path) {
  if (path == "/metrics")
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = ServeMetrics()};
  if (path != "/healthz" && path != "/livez" && path != "/readyz")
    return {.status = 404, .body = "want /metrics, /healthz or /readyz\n"};
  const Health health = path == "/readyz" ? Ready() : health_.Live();
  if (health.ready) return {.body = "ok\n"};
  return {.status = 503, .body = health.reason + "\n"};
}

std::string Process::ServeMetrics() {
  const exec::StrandPool::Load load = strands_.load();
  metrics_.pool_threads.Set(static_cast<double>(load.threads));
  metrics_.pool_busy.Set(static_cast<double>(load.busy));
  metrics_.pool_waiting.Set(static_cast<double>(load.waiting_keys));
  metrics_.loop_idle.Set(std::chrono::duration<double>(health_.Age()).count());
  metrics_.ready.Set(Ready().ready ? 1 : 0);
  metrics_.bus_connected.Set(health_.Get().bus_connected ? 1 : 0);
  metrics_.Update(sink_, FailPoints::Current());
  return Scrape(registry_);
}

void Process::Describe(v1::ProcessInfo& info) const {
  const ProcessHealth::Snapshot seen = health_.Get();
  const Health live = health_.Live(), ready = Ready();
  const StderrSink::LastError error = sink_.last_error();
  info.set_name(flags_.process);
  info.set_pid(getpid());
  info.set_version(Version());
  info.set_started_at_wall_ns(ToNanos(started_at_));
  info.set_live(live.ready);
  info.set_ready(ready.ready);
  info.set_reason(ready.reason);
  info.set_bus_connected(seen.bus_connected);
  for (const bus::ViewInfo& view : seen.views) {
    v1::ProcessInfo::View& row = *info.add_views();
    row.set_table(view.table);
    row.set_state(std::string(StateName(view.state)));
    row.set_records(view.records);
    row.set_complete(view.complete);
  }
  info.set_last_error(error.text);
  if (!error.text.empty()) info.set_last_error_wall_ns(ToNanos(error.at));
  info.set_metrics_address(port_.address());
  if (const std::string trouble = port_.trouble(); !trouble.empty())
    info.add_notes("metrics are not served: " + trouble);
  info.set_restarts(start_.before);
  for (const auto& note : seen.notes) info.add_notes(ToText(note));
  info.set_log_level(std::string(NameOf(sink_.level())));
}

StatusOr<std::vector<std::string>> Process::DiscardRecord(const std::string& uid) {
  return rpc::OnLoopLater<std::vector<std::string>>(
      loop_, kDiscardLimit, [this, uid](Service::Discarded done) {
        log_.Info("discarding unreadable records of a pod", {KV("podUID", OneLine(uid))});
        service_->DiscardRecord(uid, std::move(done));
      });
}

/// Logs at any level: otherwise a log would fall silent without a reason.
LogLevel Process::SetLogLevel(LogLevel level) {
  const LogLevel before = sink_.SetLevel(level);
  sink_.Write(LogLevel::kInfo, "log level changed",
              {KV("level", NameOf(level)), KV("before", NameOf(before))});
  return before;
}

std::shared_ptr<grpc::Channel> Process::Peer(const std::string& process) {
  const std::lock_guard lock(peers_mutex_);
  auto& channel = peers_[process];
  if (channel == nullptr)
    channel = rpc::Connect(rpc::SocketPath(flags_.run_dir, process), &call_metrics_,
                           access_.UserOf(process));
  return channel;
}

Status Process::SendEvents(const std::vector<PodEvent>& events) {
  v1::RecordEventRequest request;
  const int64_t now = ToNanos(clock_.WallNow());
  for (const PodEvent& event : events) {
    v1::EventRecord& record = *request.add_events();
    record = RecordOf(event);
    record.set_first_wall_ns(now);
    record.set_last_wall_ns(now);
  }
  v1::RecordEventReply reply;
  const auto stub = v1::Status::NewStub(Peer("status"));
  rpc::ClientCall call(clock_, After(clock_, kSendLimit));
  return rpc::FromGrpc(stub->RecordEvent(&call.context(), request, &reply));
}

}  // namespace splitlet::daemon
