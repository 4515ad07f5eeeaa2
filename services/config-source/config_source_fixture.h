#pragma once

/// config-source whole, on fakes: files, bus, loop and strands on virtual time, with a pod-worker's
/// table beside it and a reader of `desired`. Start, Stop and Crash as often as a test wants; files
/// and time stay.
/// Threads: one.
/// Errors: as test failures.

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/apiclient/transport.h"
#include "libs/base/fail_point.h"
#include "libs/bus/fake_bus.h"
#include "libs/bus/typed.h"
#include "libs/daemon/fake_event_recorder.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "services/config-source/config_source_service.h"
#include "services/config-source/make_sources.h"
#include "services/config-source/sources/http/fake_http_fetcher.h"
#include "services/config-source/sources/manifest.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {

/// The fetcher that a test keeps while processes come and go.
class SharedFetcher final : public HttpFetcher {
 public:
  explicit SharedFetcher(FakeHttpFetcher& fetcher) : fetcher_(fetcher) {}
  StatusOr<HttpReply> Get(const HttpRequest& request, Deadline deadline) override {
    return fetcher_.Get(request, std::move(deadline));
  }

 private:
  FakeHttpFetcher& fetcher_;
};

/// Forwards to a transport that several processes share.
class SharedTransport final : public apiclient::Transport {
 public:
  explicit SharedTransport(apiclient::Transport& server) : server_(server) {}
  void Begin(apiclient::Request request, Deadline deadline, Done done) override {
    server_.Begin(std::move(request), std::move(deadline), std::move(done));
  }
  void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                   Done done) override {
    server_.BeginStream(std::move(request), std::move(deadline), std::move(on_data),
                        std::move(done));
  }

 private:
  apiclient::Transport& server_;
};

inline std::string Manifest(const std::string& name, const std::string& image = "nginx:1.25",
                            const std::string& uid = {}) {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n{}spec:\n  containers:\n  - name: app\n"
      "    image: {}\n",
      name, uid.empty() ? std::string() : "  uid: " + uid + "\n", image);
}

class TestNode {
 public:
  /// The process, from a start to a crash.
  struct Process {
    explicit Process(TestNode& node)
        : owner(node.all.NewOwner("config-source")),
          loop(node.all, owner),
          strands(loop),
          bus(node.network, "config-source", loop) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    prometheus::Registry registry;
    daemon::FakeEventRecorder events;
    fs::FakeFileWatcher* watcher = nullptr;
    std::unique_ptr<ConfigSourceService> service;
  };

  TestNode() {
    config.node_name = "node-a";
    config.static_pod_path = "/m";
    config.records_directory = "/state/config-source";
    EXPECT_TRUE(files.MakeDirs("/m", 0755).ok());
    CompleteWorkers();
  }
  ~TestNode() { FailPoints::SetCurrent(nullptr); }

  void Start() {
    process = std::make_unique<Process>(*this);
    auto watcher = std::make_unique<fs::FakeFileWatcher>(files);
    process->watcher = watcher.get();
    const exec::Env env{.clock = clock,
                        .loop = process->loop,
                        .strands = process->strands,
                        .log = log,
                        .metrics = process->registry};
    const auto metrics = std::make_shared<ConfigMetrics>(process->registry);
    auto sources =
        MakeSources({.env = env,
                     .files = files,
                     .watcher = std::move(watcher),
                     .fetcher = std::make_unique<SharedFetcher>(fetcher),
                     .api = api == nullptr ? nullptr : std::make_unique<SharedTransport>(*api),
                     .metrics = metrics},
                    config);
    process->service = std::make_unique<ConfigSourceService>(
        ConfigSourceDeps{.env = env,
                         .metrics = metrics,
                         .records = std::make_shared<fs::RecordStore>(
                             files, clock, fs::RecordStore::Options{config.records_directory}),
                         .sources = std::move(sources),
                         .table = *bus::Own<v1::DesiredRecord>(process->bus, "desired"),
                         .workers = *bus::ViewOf<v1::WorkerRecord>(process->bus, "workers"),
                         .events = process->events});
    process->loop.Post([p = process.get()] { p->service->Start(); });
  }
  /// SIGKILL: nothing of it runs any more.
  void Kill() {
    all.Drop(process->owner);
    process.reset();
  }
  void Restart() {
    Kill();
    Start();
    RunFor(1s);
  }
  void RunFor(Duration d) { all.Advance(d); }
  /// Long enough to have read every manifest; 1 s: those that are broken more than once.
  void StartAndRead(Duration time = 100ms) {
    Start();
    RunFor(time);
  }
  /// With one manifest; the record of its pod.
  std::shared_ptr<const v1::DesiredRecord> StartWithWeb(
      const std::string& manifest = Manifest("web")) {
    Write("/m/web.yaml", manifest);
    StartAndRead();
    return Find("web");
  }
  /// The machine: the other processes have restarted, and no pod has a worker yet; config-source is
  /// down.
  void Reboot() {
    Kill();
    clock.SetBoot(clock.Now().boot + 1);
    all.Reboot();
    worker_bus.reset();
    reader_bus.reset();
    worker_bus = std::make_unique<bus::FakeBus>(network, "pod-worker", other_loop);
    reader_bus = std::make_unique<bus::FakeBus>(network, "sync-loop", other_loop);
    workers = *bus::Own<v1::WorkerRecord>(*worker_bus, "workers");
    desired = *bus::ViewOf<v1::DesiredRecord>(*reader_bus, "desired");
    CompleteWorkers();
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.Replace(path, text, {}).ok());
  }
  void Delete(const std::string& path) { ASSERT_TRUE(files.Remove(path).ok()); }

  std::shared_ptr<const v1::DesiredRecord> Find(const std::string& name) const {
    std::shared_ptr<const v1::DesiredRecord> found;
    desired.ForEach([&](const std::string&, const auto& record) {
      if (record->name() != name + "-node-a") return;
      // The record of a newer incarnation, while an older one still terminates.
      if (found == nullptr || found->incarnation() < record->incarnation()) found = record;
    });
    return found;
  }
  kube::Pod PodOf(const std::string& name) const {
    kube::Pod pod;
    const auto record = Find(name);
    EXPECT_TRUE(record != nullptr && pod.ParseFromString(record->pod())) << name;
    return pod;
  }
  /// "a b- c!": names, removed ones with "-", those with a problem with "!".
  std::string Show() const {
    std::vector<std::string> names;
    desired.ForEach([&](const std::string&, const auto& record) {
      std::string name = record->name().substr(0, record->name().size() - 7);
      if (record->state() == v1::DesiredRecord::REMOVED) name += "-";
      if (!record->problem().empty()) name += "!";
      names.push_back(std::move(name));
    });
    std::sort(names.begin(), names.end());
    return fmt::format("{}", fmt::join(names, " "));
  }
  bool Complete(const std::string& source) const { return desired.IsComplete(source); }
  SourceView SourceNamed(const std::string& name) const {
    for (const auto& view : process->service->GetSources())
      if (view.name == name) return view;
    ADD_FAILURE() << "no source " << name;
    return {};
  }
  void PutWorker(const v1::DesiredRecord& of, v1::WorkerState state,
                 const std::string& terminal_phase = "", uint64_t shutdown_boot = 0) {
    v1::WorkerRecord record;
    record.set_uid(of.uid());
    record.set_incarnation(of.incarnation());
    record.set_generation(of.generation());
    record.set_state(state);
    record.set_granted(true);
    if (!terminal_phase.empty()) record.mutable_terminal_status()->set_phase(terminal_phase);
    record.set_evicted(shutdown_boot != 0);
    record.set_shutdown_boot(shutdown_boot);
    EXPECT_TRUE(workers.Put(bus::KeyOf(of.uid()), record).ok());
  }
  std::vector<std::string> LogLines(const std::string& message) const {
    std::vector<std::string> found;
    for (const auto& line : sink.lines()) {
      if (line.message != message) continue;
      std::string text;
      for (const auto& [key, value] : line.fields) text += key + "=" + value + " ";
      found.push_back(text);
    }
    return found;
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  fs::FakeFileSystem files{clock};
  bus::FakeBusNetwork network{clock, 1};
  FakeLogSink sink;
  const Log log{sink};
  FakeHttpFetcher fetcher;
  apiclient::Transport* api = nullptr;  // null: this node has no API server
  exec::FakeLoop other_loop{all, all.NewOwner("others")};
  std::unique_ptr<bus::FakeBus> worker_bus =
      std::make_unique<bus::FakeBus>(network, "pod-worker", other_loop);
  std::unique_ptr<bus::FakeBus> reader_bus =
      std::make_unique<bus::FakeBus>(network, "sync-loop", other_loop);
  bus::Table<v1::WorkerRecord> workers = *bus::Own<v1::WorkerRecord>(*worker_bus, "workers");
  bus::View<v1::DesiredRecord> desired = *bus::ViewOf<v1::DesiredRecord>(*reader_bus, "desired");
  ConfigSourceConfig config;
  std::unique_ptr<Process> process;

 private:
  void CompleteWorkers() { workers.SetComplete({.scopes = {std::string(bus::kAll)}}); }
};

}  // namespace splitlet::config_source
