#pragma once

/// Runs the service node-api on fakes: tables of the other processes, an API server for reviews,
/// gc, pod-worker, files.
/// Threads: one.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/logs/fake_log_files.h"
#include "libs/logs/log_watch.h"
#include "services/node-api/fake_responder.h"
#include "services/node-api/node_api_service.h"
#include "splitlet/v1/checkpoints.pb.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::node_api {

/// Watches logs that no process writes; `on_wait` may write while a reader waits.
class NothingChanges final : public logs::LogWatch {
 public:
  explicit NothingChanges(const std::function<void()>& on_wait) : on_wait_(on_wait) {}
  bool Wait() override {
    if (on_wait_) on_wait_();
    return false;
  }

 private:
  const std::function<void()>& on_wait_;
};

class FakeReviewer final : public Reviewer {
 public:
  StatusOr<std::optional<User>> ReviewToken(const std::string& token,
                                            const Deadline& deadline) override {
    ++token_calls;
    if (on_token) on_token(deadline);
    if (!trouble.ok()) return trouble;
    const auto found = tokens.find(token);
    if (found == tokens.end()) return std::optional<User>();
    return std::optional(found->second);
  }
  StatusOr<bool> MayAccess(const AccessQuestion& question, const Deadline& deadline) override {
    if (on_access) on_access(deadline);
    asked.push_back(question.verb + " " + question.subresource);
    users.push_back(question.user);
    if (!trouble.ok()) return trouble;
    return rights.contains(question.user.name + " " + asked.back());
  }

  std::map<std::string, User> tokens = {{"good", {.name = "bob", .groups = {"ops"}}}};
  std::set<std::string> rights;  // "bob get pods"
  Status trouble;
  std::function<void(const Deadline&deadline)> on_token, on_access;
  int token_calls = 0;
  std::vector<std::string> asked;
  std::vector<User> users;
};

class FakePodCalls final : public PodCalls {
 public:
  StatusOr<std::string> OpenStream(const v1::OpenStreamRequest& request,
                                   const CallOptions& options) override {
    traces.push_back(options.traceparent);
    opened.push_back(request);
    return url;
  }
  StatusOr<v1::RunCommandReply> RunCommand(const v1::RunCommandRequest& request,
                                           const CallOptions& options) override {
    traces.push_back(options.traceparent);
    ran.push_back(request);
    return reply;
  }
  StatusOr<v1::CheckpointReply> Checkpoint(const v1::CheckpointRequest& request,
                                           const CallOptions& options) override {
    traces.push_back(options.traceparent);
    asked.push_back(request);
    if (options.deadline.cancel->cancelled()) return Cancelled("given up");
    if (on_checkpoint) on_checkpoint();
    v1::CheckpointReply made;
    if (unfinished-- > 0) return made;
    if (!location.ok()) return location.status();
    made.set_done(true);
    made.set_location(*location);
    return made;
  }

  StatusOr<std::string> url = std::string("http://127.0.0.1:4321/exec/token");
  StatusOr<v1::RunCommandReply> reply = v1::RunCommandReply();
  std::vector<v1::OpenStreamRequest> opened;
  std::vector<v1::RunCommandRequest> ran;
  StatusOr<std::string> location = std::string("/root/checkpoints/a.tar");
  int unfinished = 0;                   // number of answers before a checkpoint is done
  std::function<void()> on_checkpoint;  // called while a checkpoint is being made
  std::vector<v1::CheckpointRequest> asked;
  std::vector<std::string> traces;  // traceparents of all calls
};

class FakeStatsSource final : public StatsSource {
 public:
  StatusOr<v1::NodeStatsReply> Get(bool details, const Deadline&) override {
    ++(details ? detailed_calls : calls);
    return reply;
  }
  StatusOr<v1::NodeStatsReply> reply = v1::NodeStatsReply();
  int calls = 0, detailed_calls = 0;
};

class FakeMetricsSource final : public MetricsSource {
 public:
  void Ask(const std::string& process, const Deadline&, Done done) override {
    const auto found = texts.find(process);
    if (found == texts.end()) return done(Unavailable("it is away"));
    done(found->second);
  }
  std::map<std::string, std::string> texts;
};

class FakeLevelTarget final : public LevelTarget {
 public:
  Status Set(const std::string& process, LogLevel level, const CallOptions& options) override {
    traces.push_back(options.traceparent);
    if (away.contains(process)) return Unavailable("it is away");
    levels[process] = level;
    return OkStatus();
  }
  std::set<std::string> away;
  std::map<std::string, LogLevel> levels;
  std::vector<std::string> traces;
};

class NodeApiTest : public ::testing::Test {
 protected:
  template <class R>
  struct Owner {
    Owner(NodeApiTest& node, const std::string& process, const std::string& table)
        : bus(node.network, process, node.loop), rows(*bus::Own<R>(bus, table)) {
      rows.SetComplete({.scopes = {std::string(bus::kAll)}});
    }
    bus::FakeBus bus;
    bus::Table<R> rows;
  };
  NodeApiTest() {
    config.node_name = "node-a";
    config.has_api_server = true;
    config.sync_loop_limit = std::chrono::minutes{5};
    config.configz = R"({"kubeletconfig":{}})";
    config.node_logs_dir = "/var/log";
    config.pod_logs_dir = "/logs";
    config.server.port = 0;
    config.server.healthz_port = 0;
    stats->reply->set_at_wall_ns(ToNanos(clock.WallNow()));
  }

  void Start() {
    NodeApiDeps deps{
        .clock = clock,
        .loop = loop,
        .strands = strands,
        .log_strands = log_strands,
        .files = files,
        .views = {*bus::ViewOf<v1::DesiredRecord>(bus, "desired"),
                  *bus::ViewOf<v1::PodStatusRecord>(bus, "podstatus"),
                  *bus::ViewOf<v1::RuntimeRecord>(bus, "runtime")},
        .reviewer = config.has_api_server ? reviewer : nullptr,
        .pod_calls = pod_calls,
        .stats = stats,
        .processes = processes,
        .levels = levels,
        .process_names = {"pleg", "gc"},
        .ask_sync_loop = [this](const Deadline&) { return sync_loop; },
        .log_files = log_files,
        .container_files = [this](const std::string&) { return log_files; },
        .watch_log =
            [this](const std::string&) { return std::make_unique<NothingChanges>(on_log_wait); },
        .start_server = {},
        .machine = {.machine_id = "m",
                    .system_uuid = "s",
                    .boot_id = "b",
                    .cpus = 4,
                    .cores = 2,
                    .sockets = 1,
                    .kernel_version = "6.1",
                    .os_image = "Debian",
                    .version = "1"},
        .run_program = [this](const process::Program& program) { return RunProgram(program); },
        .read_within = [this](
                           const std::string& root, const std::string& path,
                           uint64_t max_bytes) { return files.Read(root + "/" + path, max_bytes); },
        .hold_below =
            [this](const std::string& root, const std::string& path) {
              if (leads_out.contains(path))
                return StatusOr<HeldPath>(PermissionDenied("the path leads out of {}", root));
              std::string below = root + path;
              while (below.ends_with('/')) below.pop_back();
              return StatusOr<HeldPath>(HeldPath{.held = nullptr, .path = below});
            },
        .secret = "secret",
        .log = Log(log_sink),
        .metrics = registry};
    service = std::make_unique<NodeApiService>(std::move(deps), config);
    loop.Post([this] { service->Start(); });
    all.Advance(2s);
  }

  /// Default: "GET /pods" by bob.
  struct Ask {
    std::string method = "GET";
    std::string target = "/pods";
    std::string token = "good";
    https::Headers headers = {};
    Surface surface = Surface::kSecured;
    std::optional<https::ClientCertificate> client = std::nullopt;
    std::string body = "";
    std::string bad_client = "";
  };
  std::shared_ptr<Answered> Send(const Ask& ask) {
    auto answered = Begin(ask);
    all.Advance(1ms);
    return answered;
  }
  /// Answered when time advances.
  std::shared_ptr<Answered> Begin(const Ask& ask) {
    https::Request request{.method = ask.method,
                           .target = ask.target,
                           .path = ask.target.substr(0, ask.target.find('?')),
                           .headers = ask.headers,
                           .body = ask.body,
                           .peer = "10.0.0.7",
                           .tls = ask.surface == Surface::kSecured,
                           .client = ask.client,
                           .bad_client = ask.bad_client};
    if (const auto mark = ask.target.find('?'); mark != std::string::npos)
      request.query = ask.target.substr(mark + 1);
    if (!ask.token.empty()) request.headers.emplace_back("Authorization", "Bearer " + ask.token);
    auto answered = std::make_shared<Answered>();
    loop.Post([this, ask, request, answered] {
      service->OnRequest(ask.surface, request, std::make_shared<FakeResponder>(answered));
    });
    return answered;
  }
  /// "403 Forbidden (...)", without the line break.
  std::string Text(const Ask& ask) {
    const auto answered = Send(ask);
    if (!answered->answer) return answered->backend ? "passed on" : "no answer";
    std::string text = fmt::format("{} {}", answered->answer->code, answered->answer->body);
    while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
    return text;
  }
  int Code(const Ask& ask) {
    const auto answered = Send(ask);
    return answered->answer ? answered->answer->code : 0;
  }
  StatusOr<std::string> RunProgram(const process::Program& program) {
    ran.push_back(fmt::format("{}", fmt::join(program.argv, " ")));
    for (const auto& [word, duration] : program_times)
      if (ran.back().find(word) != std::string::npos) all.Charge(duration);
    const auto found = programs.find(ran.back());
    if (found == programs.end()) return NotFound("no such program");
    return found->second;
  }
  void AllowAll() { config.server.authorization = "AlwaysAllow"; }

  kube::Pod MakePod() const {
    kube::Pod pod;
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_metadata()->set_uid("u1");
    for (const char* name : {"app", "done", "waits"}) {
      auto& container = *pod.mutable_spec()->add_containers();
      container.set_name(name);
      container.set_image("busybox");
    }
    return pod;
  }
  void PutPod() {
    v1::DesiredRecord record;
    record.set_uid("u1");
    record.set_name("web");
    record.set_namespace_("default");
    record.set_source("file");
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_incarnation(1);
    record.set_generation(1);
    record.set_pod(MakePod().SerializeAsString());
    ASSERT_TRUE(desired.rows.Put("u1", record).ok());
    kube::PodStatus status;
    status.set_phase("Running");
    auto& app = *status.add_container_statuses();
    app.set_name("app");
    app.set_container_id("containerd://c1");
    app.mutable_state()->mutable_running();
    auto& done = *status.add_container_statuses();
    done.set_name("done");
    done.mutable_state()->mutable_terminated()->set_container_id("containerd://c2");
    auto& waits = *status.add_container_statuses();
    waits.set_name("waits");
    waits.mutable_state()->mutable_waiting()->set_reason("ImagePullBackOff");
    v1::PodStatusRecord shown;
    shown.set_uid("u1");
    shown.set_incarnation(1);
    shown.set_status(status.SerializeAsString());
    ASSERT_TRUE(podstatus.rows.Put("u1", shown).ok());
    v1::RuntimeRecord seen;
    auto& pod = *seen.mutable_pod();
    pod.set_uid("u1");
    pod.set_name("web");
    pod.set_namespace_("default");
    AddContainer(pod, "app", "c1", v1::ContainerRecord::RUNNING);
    AddContainer(pod, "done", "c2", v1::ContainerRecord::EXITED);
    ASSERT_TRUE(runtime.rows.Put("u1", seen).ok());
    all.Advance(2s);
  }
  /// The pod "other" with an ended container "app", whose log is /logs/other.log.
  void PutOtherPod() {
    kube::Pod wanted;
    wanted.mutable_metadata()->set_name("other");
    wanted.mutable_metadata()->set_namespace_("default");
    wanted.mutable_metadata()->set_uid("u2");
    wanted.mutable_spec()->add_containers()->set_name("app");
    v1::DesiredRecord record;
    record.set_uid("u2");
    record.set_name("other");
    record.set_namespace_("default");
    record.set_source("file");
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_incarnation(1);
    record.set_generation(1);
    record.set_pod(wanted.SerializeAsString());
    ASSERT_TRUE(desired.rows.Put("u2", record).ok());
    kube::PodStatus status;
    auto& app = *status.add_container_statuses();
    app.set_name("app");
    app.mutable_state()->mutable_terminated()->set_container_id("containerd://c3");
    v1::PodStatusRecord shown;
    shown.set_uid("u2");
    shown.set_incarnation(1);
    shown.set_status(status.SerializeAsString());
    ASSERT_TRUE(podstatus.rows.Put("u2", shown).ok());
    v1::RuntimeRecord seen;
    seen.mutable_pod()->set_uid("u2");
    seen.mutable_pod()->set_name("other");
    seen.mutable_pod()->set_namespace_("default");
    AddContainer(*seen.mutable_pod(), "app", "c3", v1::ContainerRecord::EXITED);
    seen.mutable_pod()->mutable_containers(0)->set_log_path("/logs/other.log");
    ASSERT_TRUE(runtime.rows.Put("u2", seen).ok());
    all.Advance(2s);
  }
  static void AddContainer(v1::ObservedPod& pod, const std::string& name, const std::string& id,
                           v1::ContainerRecord::State state) {
    auto& container = *pod.add_containers();
    container.set_name(name);
    container.set_id(id);
    container.set_state(state);
    container.set_image("busybox");
    container.set_log_path("/logs/" + name + ".log");
    container.set_started_at_ns(1'700'000'000'000'000'000);
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  exec::FakeLoop loop{all, all.NewOwner("node-api")};
  exec::FakeStrands strands{loop};
  exec::Scheduler::Owner log_readers = all.NewOwner("readers of logs");
  exec::FakeLoop log_loop{all, log_readers};
  exec::FakeStrands log_strands{log_loop};
  bus::FakeBusNetwork network{clock, 1};
  Owner<v1::DesiredRecord> desired{*this, "config-source", "desired"};
  Owner<v1::PodStatusRecord> podstatus{*this, "status", "podstatus"};
  Owner<v1::RuntimeRecord> runtime{*this, "pleg", "runtime"};
  bus::FakeBus bus{network, "node-api", loop};
  fs::FakeFileSystem files{clock};
  FakeLogSink log_sink;
  prometheus::Registry registry;
  NodeApiConfig config;
  std::shared_ptr<FakeReviewer> reviewer = std::make_shared<FakeReviewer>();
  std::shared_ptr<FakePodCalls> pod_calls = std::make_shared<FakePodCalls>();
  std::shared_ptr<FakeStatsSource> stats = std::make_shared<FakeStatsSource>();
  std::shared_ptr<FakeMetricsSource> processes = std::make_shared<FakeMetricsSource>();
  std::shared_ptr<FakeLevelTarget> levels = std::make_shared<FakeLevelTarget>();
  std::shared_ptr<logs::FakeLogFiles> log_files = std::make_shared<logs::FakeLogFiles>();
  std::function<void()> on_log_wait;
  std::set<std::string> leads_out;  // paths below the node's log folder whose links lead out:
                                    // "/link"
  Status sync_loop;
  std::map<std::string, StatusOr<std::string>> programs;  // command line -> its output
  std::map<std::string, Duration> program_times;  // part of a command line -> its running time
  std::vector<std::string> ran;
  std::unique_ptr<NodeApiService> service;
};

}  // namespace splitlet::node_api
