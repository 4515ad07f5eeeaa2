// Measures a node of an API server (fake-api). Pods on real containerd are compared with raw CRI
// calls of the same run, which needs root. The cost of the connection is measured on a runtime that
// takes no time (fake-cri). Usage: cluster_bench [--rounds N] [--pods N] [--minutes N] [--part NAME
// ...]

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "libs/http/test_server.h"
#include "libs/https/test_client.h"
#include "tests/bench/cluster_api.h"
#include "tests/bench/container_sessions.h"
#include "tests/bench/exec_sessions.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/outage.h"
#include "tests/bench/processes.h"
#include "tests/bench/raw.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;
using State = PodWatch::State;

constexpr const char* kWaits =
    R"(,"command":["/bin/sh","-c","trap 'exit 0' TERM; sleep 100000 & wait"])";
constexpr const char* kIgnoresTerm = R"(,"command":["/bin/sh","-c","sleep 100000"])";

struct Plan {
  int rounds, pods;
  double minutes;               // length of the outage
  std::set<std::string> parts;  // empty: all parts
  bool Has(const std::string& part) const { return parts.empty() || parts.contains(part); }
};

std::vector<std::string> NamesOf(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}-{}", prefix, i));
  return names;
}

void CreateAll(ClusterApi& api, const std::vector<std::string>& names, const std::string& rest,
               int64_t grace_seconds = 1) {
  std::vector<std::string> pods;
  for (const auto& name : names) pods.push_back(PodJson(name, rest, grace_seconds));
  api.Create(pods);
}

/// Returns when node-api accepts the administrator.
void StartNodeApi(harness::Node& node, const ClusterApi& api) {
  if (node.keeper().PidOf("node-api") == 0) node.StartProcess("node-api");
  CHECK(
      WaitEvery(20ms, kLimit,
                [&] {
                  https::TestClient client(api.node_api_port());
                  return client.connected && client.Handshake({.identity = &api.client()}) &&
                         client.Ask("GET /healthz HTTP/1.1\r\nHost: node", "\r\n").find(" 200 ") !=
                             std::string::npos;
                }),
      "{}", node.LogTails());
}

double MsSince(const ClusterApi& api, Clock::Time began) {
  return Ms((api.clock().Now() - began).count());
}

// Parts on real containerd.

class OnContainerd {
 public:
  OnContainerd(ClusterApi& api, harness::RuntimeView& view, Raw& raw, const Plan& plan)
      : api_(api), view_(view), raw_(raw), plan_(plan) {}

  /// `cat` in one container, compared with the same sessions on the runtime's server itself.
  void Sessions(harness::Node& node, const std::string& endpoint) {
    constexpr size_t kSessions = 50;
    StartNodeApi(node, api_);
    PodWatch watch(api_);
    CreateAll(api_, {"shell"}, kWaits);
    watch.Await("shell", State::kRunning);
    const auto container = view_.RunningOf("shell").at(0).id;
    CHECK(WaitEvery(50ms, kLimit, [&] { return ContainerSessions(1, Exec()).SilentNow() == 0; }),
          "{}", node.LogTails());
    Result all{.name = fmt::format("cluster: {} exec sessions at once in a container, until all "
                                   "have answered",
                                   kSessions),
               .unit = "ms"};
    all.floor = {ContainerSessions(kSessions, RawExec(endpoint, container)).answered_ms()};
    const Processes processes(node);
    const double before = processes.MbOf("node-api");
    ContainerSessions sessions(kSessions, Exec());
    all.values = {sessions.answered_ms()};
    Result refused{.name = "cluster: of them refused, or without an answer", .unit = ""};
    refused.limit_p50 = refused.limit_p99 = 0;
    refused.values = {static_cast<double>(sessions.refused() + sessions.silent()),
                      static_cast<double>(sessions.SilentNow())};
    Result memory{.name = "cluster: PSS of node-api for them", .unit = "MB"};
    memory.values = {processes.MbOf("node-api") - before};
    for (const auto* result : {&refused, &all, &memory}) Print(*result);
    api_.Delete({"shell"});
  }

  /// A pod of the node that serves as model for raw pods.
  void TakeModel(const std::string& endpoint, const std::string& folder) {
    PodWatch watch(api_);
    CreateAll(api_, {"model"}, kWaits);
    watch.Await("model", State::kRunning);
    raw_.Use(ConfigOf(endpoint, view_.RunningOf("model").at(0), folder));
    api_.Delete({"model"});
    watch.Await("model", State::kGone);
  }

  void Start() {
    PodWatch watch(api_);
    Result start{.name = "cluster: pod created to Running stored", .unit = "ms"};
    start.overhead_p50 = 40;
    for (int i = 0; i < plan_.rounds; ++i) {
      const auto pod = raw_.Start(i);
      start.floor.push_back(Ms(raw_.StartedAt(pod.container) - pod.began_ns));
      raw_.Stop(pod, 1);
      raw_.Remove(pod);
      const std::string name = fmt::format("one-{}", i);
      const auto began = api_.clock().Now();
      CreateAll(api_, {name}, kWaits);
      start.values.push_back(Ms((watch.Await(name, State::kRunning) - began).count()));
      api_.Delete({name});
      watch.Await(name, State::kGone);
    }
    Print(start);
  }

  /// Time of a container that uses its whole grace period: 2 s, the minimum. The runtime itself
  /// takes some 250 ms more, to kill it and to remove the network.
  void Delete() {
    constexpr int64_t kGrace = 2;
    PodWatch watch(api_);
    Result gone{.name = "cluster: delete to object gone, less the grace", .unit = "ms"};
    gone.overhead_p50 = 100;
    for (int i = 0; i < plan_.rounds; ++i) {
      const auto pod = raw_.Start(1000 + i, "sleep 100000");
      const auto raw_began = api_.clock().Now();
      raw_.Stop(pod, kGrace);
      gone.floor.push_back(MsSince(api_, raw_began) - kGrace * 1000);
      raw_.Remove(pod);
      const std::string name = fmt::format("ends-{}", i);
      CreateAll(api_, {name}, kIgnoresTerm, kGrace);
      watch.Await(name, State::kRunning);
      std::this_thread::sleep_for(300ms);
      const auto began = api_.clock().Now();
      api_.Delete({name});
      gone.values.push_back(Ms((watch.Await(name, State::kGone) - began).count()) - kGrace * 1000);
    }
    Print(gone);
  }

  /// Alternates with raw calls, so that a slow minute affects both.
  void Burst() {
    Result burst{.name = fmt::format("cluster: {} pods at once, all Running stored", plan_.pods),
                 .unit = "ms"};
    burst.ratio = 1.2;
    for (const int width : kTurnWidths) {
      burst.floor.push_back(raw_.BurstOf(view_, plan_.pods, width).started_ms);
      PodWatch watch(api_);
      const auto names = NamesOf(fmt::format("burst-{}", width), plan_.pods);
      const auto began = api_.clock().Now();
      CreateAll(api_, names, kWaits);
      burst.values.push_back(Ms((watch.AwaitAll(names, State::kRunning) - began).count()));
      std::fprintf(stderr, "burst of %d pods: %.0f ms\n", plan_.pods, burst.values.back());
      api_.Delete(names);
      watch.AwaitAll(names, State::kGone);
      raw_.Clear(view_);
    }
    Print(burst);
  }

 private:
  ContainerSessions::Connect Exec() const {
    return [this]() -> ContainerSessions::Way {
      auto client = std::make_unique<https::TestClient>(api_.node_api_port());
      if (!client->connected || !client->Handshake({.identity = &api_.client()})) return {};
      return {std::move(client), "/exec/default/shell/app?command=cat&input=1&output=1"};
    };
  }
  static ContainerSessions::Connect RawExec(const std::string& endpoint,
                                            const cri::ContainerId& container) {
    return [endpoint, container]() -> ContainerSessions::Way {
      const std::string url = ExecUrl(endpoint, container, "cat");
      const size_t port = url.rfind(':') + 1;
      const size_t path = url.find('/', port);
      CHECK(path != std::string::npos, "{}", url);
      auto client = std::make_unique<https::TestClient>(
          static_cast<uint16_t>(std::stoi(url.substr(port, path - port))));
      if (!client->connected) return {};
      return {std::move(client), url.substr(path)};
    };
  }

  ClusterApi& api_;
  harness::RuntimeView& view_;
  Raw& raw_;
  const Plan& plan_;
};

void RunOnContainerd(const Plan& plan) {
  const std::set<std::string> here = {"start", "delete", "burst", "sessions"};
  if (std::ranges::none_of(here, [&](const auto& part) { return plan.Has(part); })) return;
  if (geteuid() != 0) {
    std::fprintf(stderr,
                 "start, delete, burst, sessions SKIPPED: they run containers, which needs root\n");
    return;
  }
  const harness::TempDir dir("bn");
  const std::string script = harness::SourceDir() + "/deploy/local/runtime.sh";
  const auto run = [&](const std::string& action) {
    return harness::RunToEnd(
        {.argv = {"bash", script, action, dir.path()}, .env = {}, .output = dir / "log"}, 180s);
  };
  CHECK(run("start") == 0, "{}", harness::ReadFile(dir / "log"));
  const std::string endpoint = "unix://" + dir.path() + "/containerd.sock";
  {
    harness::RuntimeView view(endpoint);
    Raw raw(view, dir / "raw-logs");
    ClusterApi api;
    harness::Node node({.runtime_endpoint = endpoint,
                        .config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: "
                                  "KubeletConfiguration\n" +
                                  api.Config(),
                        .flags = api.Flags()});
    node.Start();
    OnContainerd bench(api, view, raw, plan);
    bench.TakeModel(endpoint, dir / "model");
    if (plan.Has("start")) bench.Start();
    if (plan.Has("delete")) bench.Delete();
    if (plan.Has("burst")) bench.Burst();
    if (plan.Has("sessions")) bench.Sessions(node, endpoint);
  }
  CHECK(run("stop") == 0, "{}", harness::ReadFile(dir / "log"));
}

// Parts on a runtime that takes no time.

/// The same without API server and node-api, with that many pods.
double StandaloneMb(int pods) {
  FakeNode fake;
  fake.node().StopProcess("node-api");
  for (const auto& name : NamesOf("idle", pods))
    fake.node().PutManifest(
        name + ".yaml",
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  containers:\n"
                    "  - {{name: app, image: splitlet.local/busybox:1}}\n",
                    name));
  CHECK(WaitEvery(200ms, kLimit,
                  [&] { return fake.view().Running().size() == static_cast<size_t>(pods); }));
  std::this_thread::sleep_for(15s);
  return Processes(fake.node()).AllMb();
}

/// Sends bytes from memory over TLS, once for each connection.
class RawTls {
 public:
  explicit RawTls(size_t bytes)
      : content_(bytes, 'x'), context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
    SSL_CTX_use_certificate(context_.get(), identity_.certificate());
    SSL_CTX_use_PrivateKey(context_.get(), identity_.key());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 8) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~RawTls() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  RawTls(const RawTls&) = delete;
  RawTls& operator=(const RawTls&) = delete;

  uint16_t port = 0;

 private:
  void Run() {
    constexpr size_t kPiece = 16 << 10;
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context_.get()), &SSL_free);
      SSL_set_fd(tls.get(), connection);
      size_t sent = SSL_accept(tls.get()) == 1 ? 0 : content_.size();
      while (sent < content_.size()) {
        const auto piece = static_cast<int>(std::min(kPiece, content_.size() - sent));
        if (SSL_write(tls.get(), content_.data() + sent, piece) <= 0) break;
        sent += static_cast<size_t>(piece);
      }
      SSL_shutdown(tls.get());
      ::close(connection);
    }
  }

  const std::string content_;
  const https::TestIdentity identity_{{}};
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

class OnFake {
 public:
  OnFake(ClusterApi& api, FakeNode& fake, const Plan& plan)
      : api_(api), fake_(fake), node_(fake.node()), processes_(fake.node()), plan_(plan) {}

  void CreatePods() {
    PodWatch watch(api_);
    const auto names = NamesOf("idle", plan_.pods);
    CreateAll(api_, names, "");
    watch.AwaitAll(names, State::kRunning);
    std::this_thread::sleep_for(15s);
  }

  void Memory(double standalone) {
    Result memory{
        .name = fmt::format("cluster: PSS over that without a server, {} pods", plan_.pods),
        .unit = "MB"};
    memory.overhead_p50 = 15;
    memory.floor = {standalone};
    memory.values = {processes_.AllMb()};
    Print(memory);
  }

  /// Prints each write of a minute on stderr.
  void SteadyState() {
    Result requests{
        .name = fmt::format("cluster: requests in 10 s beside lease and node, {} pods", plan_.pods),
        .unit = ""};
    requests.limit_p50 = 1;
    std::this_thread::sleep_for(30s);
    CHECK(api_.process().Send("seen").ok());
    constexpr auto kSpan = 60s;
    std::this_thread::sleep_for(kSpan);
    const auto seen = api_.process().Send("seen");
    CHECK(seen.ok(), "{}", seen.status());
    int count = 0;
    std::istringstream all(*seen);
    for (std::string part; std::getline(all, part, '"');) {
      if (part.find(" /") == std::string::npos) continue;  // only between the two marks
      const bool heartbeat = part.find("/leases/") != std::string::npos ||
                             part.find("/api/v1/nodes/") != std::string::npos;
      std::fprintf(stderr, "%s%s\n", part.c_str(), heartbeat ? "" : " (counts)");
      if (!heartbeat) ++count;
    }
    requests.values = {static_cast<double>(count) * 10 / kSpan.count()};
    Print(requests);
  }

  /// Before the first query of `seen`, because pod-worker must have begun to watch services.
  void AwaitServicesWatch() {
    int requests = 0;  // one for the list, one for the watch
    CHECK(WaitEvery(100ms, kLimit, [&] {
      const auto seen = api_.process().Send("seen");
      CHECK(seen.ok(), "{}", seen.status());
      constexpr std::string_view kAsked = "GET /api/v1/services";
      for (size_t at = seen->find(kAsked); at != std::string::npos;
           at = seen->find(kAsked, at + kAsked.size()))
        ++requests;
      return requests >= 2;
    }));
  }

  /// CPU is scaled to 5,000 events a second, even if the server makes fewer.
  void Services() {
    constexpr int kBatch = 250, kBatches = 400;
    constexpr auto kPeriod = 50ms;
    constexpr double kWanted = 5000;
    const std::string put = fmt::format(
        R"(repeat {} put /api/v1/namespaces/default/services/busy {{"apiVersion":"v1","kind":)"
        R"("Service","metadata":{{"name":"busy","namespace":"default","annotations":{{"filler":)"
        R"("{}"}}}},"spec":{{"clusterIP":"10.0.0.9","ports":[{{"port":1%i}}]}}}})",
        kBatch, std::string(800, 'x'));
    CHECK(api_.process().Send(put).ok());
    const int64_t first = VersionOf("services/busy");
    const double before = processes_.CpuSecondsOf("pod-worker");
    const auto began = api_.clock().Now();
    for (int i = 0; i < kBatches; ++i) {
      const auto done = api_.process().Send(put);
      CHECK(done.ok(), "{}", done.status());
      const Duration left = began + (i + 1) * Duration(kPeriod) - api_.clock().Now();
      if (left > Duration{0}) std::this_thread::sleep_for(left);
    }
    const double seconds = MsSince(api_, began) / 1000;
    std::this_thread::sleep_for(1s);  // for events that are not read yet
    CHECK(VersionOf("services/busy") - first >= kBatch * kBatches, "some were no changes");
    Result changes{.name = "cluster: changes of a Service of 1 KB in a second", .unit = ""};
    changes.values = {kBatch * kBatches / seconds};
    Print(changes);
    Result cpu{.name = "cluster: CPU of pod-worker for 5,000 of them in a second",
               .unit = "% of a core"};
    cpu.limit_p50 = 10;
    const double for_one = (processes_.CpuSecondsOf("pod-worker") - before) / (kBatch * kBatches);
    cpu.values = {for_one * kWanted * 100};
    Print(cpu);
  }

  /// From the first answer of 200 until the server shows the pod ready.
  void Probes() {
    std::mutex mutex;
    std::set<std::string> open;
    std::map<std::string, Clock::Time> answered;
    const http::Server target([&](const std::string& request, int connection) {
      const std::string path = request.substr(5, request.find(' ', 5) - 5);
      const std::lock_guard lock(mutex);
      const bool well = open.contains(path);
      if (well) answered.try_emplace(path, api_.clock().Now());
      http::Says(well ? "200 OK" : "500 Not Yet")(request, connection);
    });
    Result ready{.name = "cluster: a probe's result to Ready stored", .unit = "ms"};
    ready.limit_p50 = 50;
    PodWatch watch(api_);
    for (int i = 0; i < plan_.rounds; ++i) {
      const std::string name = fmt::format("probed-{}", i);
      CreateAll(api_, {name},
                fmt::format(R"(,"readinessProbe":{{"periodSeconds":1,"httpGet":{{"host":)"
                            R"("127.0.0.1","port":{},"path":"/{}"}}}})",
                            target.port, name));
      watch.Await(name, State::kRunning);
      std::this_thread::sleep_for(2s);
      {
        const std::lock_guard lock(mutex);
        open.insert(name);
      }
      const auto at = watch.Await(name, State::kReady);
      const std::lock_guard lock(mutex);
      ready.values.push_back(Ms((at - answered.at(name)).count()));
    }
    Print(ready);
    api_.Delete(NamesOf("probed", plan_.rounds));
  }

  /// Sessions to a streaming server in this program, compared with the same sessions without
  /// node-api.
  void Exec() {
    constexpr size_t kSessions = 500;
    RaiseDescriptorLimit();
    const EchoServer streaming;
    fake_.Tell("streaming " + streaming.Url());
    PodWatch watch(api_);
    CreateAll(api_, {"shell"}, "");
    watch.Await("shell", State::kRunning);
    CHECK(WaitEvery(50ms, kLimit, [&] { return OpenExec() != nullptr; }), "{}", node_.LogTails());
    Result trip{.name = fmt::format("cluster: a line there and back, {} exec sessions", kSessions),
                .unit = "ms"};
    Result all{.name = "cluster: a line in all of them at once, all back", .unit = "ms"};
    Result opened{.name = "cluster: all of them opened, eight at a time", .unit = "ms"};
    {
      ExecSessions raw(kSessions, [&] { return OpenRaw(streaming.port); });
      trip.floor = raw.RoundTripsMs();
      all.floor = {raw.AllAtOnceMs()};
      opened.floor = {raw.opened_ms()};
      CHECK(raw.silent() == 0, "{} sessions of the floor are silent", raw.silent());
    }
    const double before = processes_.MbOf("node-api");
    ExecSessions sessions(kSessions, [this] { return OpenExec(); });
    opened.values = {sessions.opened_ms()};
    trip.values = sessions.RoundTripsMs();
    Result silent{.name = fmt::format("cluster: of {} exec sessions at once, silent", kSessions),
                  .unit = ""};
    silent.limit_p50 = 0;
    silent.values = {static_cast<double>(sessions.silent())};
    all.values = {sessions.AllAtOnceMs()};
    silent.values.push_back(static_cast<double>(sessions.silent()));
    silent.limit_p99 = 0;
    for (const auto* result : {&silent, &trip, &all, &opened}) Print(*result);
    Result memory{.name = "cluster: PSS of node-api for them", .unit = "MB"};
    memory.values = {processes_.MbOf("node-api") - before};
    Print(memory);
  }

  void Logs() {
    PodWatch watch(api_);
    CreateAll(api_, {"talker"}, "");
    watch.Await("talker", State::kRunning);
    const std::string file =
        fmt::format("{}/pods/default_talker_{}/app/0.log", node_.dir(), node_.Pod("talker")->uid);
    const size_t bytes = WriteLog(file);
    const RawTls raw(bytes);
    Result copy{
        .name = fmt::format("cluster: a log of {} MB, against its bytes over TLS", bytes >> 20),
        .unit = "ms"};
    copy.ratio = 2;
    (void)LogMs(bytes);  // so that everything exists before the first measurement
    const double before = processes_.PeakMbOf("node-api");
    for (int i = 0; i < 5; ++i) {
      copy.floor.push_back(RawMs(raw, bytes));
      copy.values.push_back(LogMs(bytes));
    }
    Print(copy);
    Result memory{.name = "cluster: growth of node-api's peak of memory by five more of them",
                  .unit = "MB"};
    memory.limit_p50 = 8;
    memory.values = {processes_.PeakMbOf("node-api") - before};
    Print(memory);
  }

 private:
  /// Each change at the server has a number.
  int64_t VersionOf(const std::string& object) {
    const auto json = api_.process().Get("/api/v1/namespaces/default/" + object);
    CHECK(json.ok(), "{}", json.status());
    constexpr std::string_view kField = "\"resourceVersion\":\"";
    const auto at = json->find(kField);
    CHECK(at != std::string::npos, "{}", *json);
    return std::stoll(json->substr(at + kField.size()));
  }
  std::unique_ptr<https::TestClient> OpenExec() const {
    auto client = std::make_unique<https::TestClient>(api_.node_api_port());
    const bool open =
        client->connected && client->Handshake({.identity = &api_.client()}) &&
        Upgraded(*client, "/exec/default/shell/app?command=cat&input=1&output=1&tty=1");
    return open ? std::move(client) : nullptr;
  }
  static std::unique_ptr<https::TestClient> OpenRaw(uint16_t port) {
    auto client = std::make_unique<https::TestClient>(port);
    return client->connected && Upgraded(*client, "/exec/0") ? std::move(client) : nullptr;
  }
  /// The number of bytes in its lines.
  static size_t WriteLog(const std::string& file) {
    constexpr size_t kLines = 640'000, kLine = 200;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream out(file);
    const std::string line =
        "2026-01-01T00:00:00.123456789Z stdout F " + std::string(kLine - 1, 'x') + "\n";
    for (size_t i = 0; i < kLines; ++i) out << line;
    return kLines * kLine;
  }
  static double ReadMs(https::TestClient& client, size_t at_least) {
    const RealClock clock;
    const auto began = clock.Now();
    size_t got = 0;
    for (std::string more = client.Read(); !more.empty(); more = client.Read()) got += more.size();
    CHECK(got >= at_least, "{} bytes instead of {}", got, at_least);
    return Ms((clock.Now() - began).count());
  }
  static double RawMs(const RawTls& raw, size_t bytes) {
    https::TestClient client(raw.port);
    CHECK(client.Handshake({}));
    return ReadMs(client, bytes);
  }
  double LogMs(size_t bytes) {
    https::TestClient client(api_.node_api_port());
    CHECK(client.Handshake({.identity = &api_.client()}));
    CHECK(
        client.Write("GET /containerLogs/default/talker/app HTTP/1.1\r\nHost: node\r\n"
                     "Connection: close\r\n\r\n"));
    return ReadMs(client, bytes);
  }

  ClusterApi& api_;
  FakeNode& fake_;
  harness::Node& node_;
  const Processes processes_;
  const Plan& plan_;
};

void RunOnFake(const Plan& plan) {
  const std::set<std::string> here = {"memory", "steady", "services", "probes", "logs", "exec"};
  if (std::ranges::none_of(here, [&](const auto& part) { return plan.Has(part); })) return;
  const double standalone = plan.Has("memory") ? StandaloneMb(plan.pods) : 0;
  ClusterApi api;
  FakeNode fake(api.Config(), api.Flags());
  StartNodeApi(fake.node(), api);
  OnFake bench(api, fake, plan);
  if (plan.Has("services")) bench.AwaitServicesWatch();
  if (plan.Has("memory") || plan.Has("steady")) bench.CreatePods();
  if (plan.Has("memory")) bench.Memory(standalone);
  if (plan.Has("steady")) bench.SteadyState();
  if (plan.Has("probes")) bench.Probes();
  if (plan.Has("services")) bench.Services();
  if (plan.Has("exec")) bench.Exec();
  if (plan.Has("logs")) bench.Logs();
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("A node of an API server");
  splitlet::bench::Plan plan{.rounds = 20, .pods = 100, .minutes = 10, .parts = {}};
  app.add_option("--rounds", plan.rounds, "repetitions of what is done to one pod");
  app.add_option("--pods", plan.pods, "pods of the burst and of the idle node");
  app.add_option("--minutes", plan.minutes, "how long the server is away in the outage");
  std::vector<std::string> parts;
  app.add_option("--part", parts,
                 "start, delete, burst, sessions; memory, steady, probes, services, exec, logs; "
                 "outage; all without it");
  CLI11_PARSE(app, argc, argv);
  plan.parts = {parts.begin(), parts.end()};
  splitlet::bench::RunOnContainerd(plan);
  splitlet::bench::RunOnFake(plan);
  if (plan.Has("outage"))
    splitlet::bench::MeasureOutage(
        20, std::chrono::duration_cast<splitlet::Duration>(
                std::chrono::duration<double, std::ratio<60>>(plan.minutes)));
  return 0;
}
