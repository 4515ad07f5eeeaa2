// A node of an API server (fake-api): pods on real containerd against raw CRI calls of the same
// run, which needs root, and what the connection costs, on a runtime that takes no time of its own
// (fake-cri). Usage: cluster_bench [--rounds N] [--pods N] [--part NAME ...]

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
#include "tests/bench/fake_node.h"
#include "tests/bench/processes.h"
#include "tests/bench/raw.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;
using State = PodWatch::State;

constexpr Duration kLimit = 300s;
constexpr const char* kWaits =
    R"(,"command":["/bin/sh","-c","trap 'exit 0' TERM; sleep 100000 & wait"])";
constexpr const char* kIgnoresTerm = R"(,"command":["/bin/sh","-c","sleep 100000"])";

struct Plan {
  int rounds, pods;
  std::set<std::string> parts;  // empty: all
  bool Has(const std::string& part) const { return parts.empty() || parts.contains(part); }
};

std::vector<std::string> NamesOf(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}-{}", prefix, i));
  return names;
}

void CreateAll(ClusterApi& api, const std::vector<std::string>& names, const std::string& rest) {
  std::vector<std::string> pods;
  for (const auto& name : names) pods.push_back(PodJson(name, rest));
  api.Create(pods);
}

void StartNodeApi(harness::Node& node) {
  if (node.keeper().PidOf("node-api") == 0) node.StartProcess("node-api");
}

double MsSince(const ClusterApi& api, Clock::Time began) {
  return Ms((api.clock().Now() - began).count());
}

// On real containerd.

class OnContainerd {
 public:
  OnContainerd(ClusterApi& api, harness::RuntimeView& view, Raw& raw, const Plan& plan)
      : api_(api), view_(view), raw_(raw), plan_(plan) {}

  /// A pod of the node that raw pods are made like.
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

  /// Of a container that uses all of its grace, which is 1 s.
  void Delete() {
    PodWatch watch(api_);
    Result gone{.name = "cluster: delete to object gone, less the grace", .unit = "ms"};
    gone.limit_p50 = 100;
    for (int i = 0; i < plan_.rounds; ++i) {
      const auto pod = raw_.Start(1000 + i, "sleep 100000");
      const auto raw_began = api_.clock().Now();
      raw_.Stop(pod, 1);
      gone.floor.push_back(MsSince(api_, raw_began) - 1000);
      raw_.Remove(pod);
      const std::string name = fmt::format("ends-{}", i);
      CreateAll(api_, {name}, kIgnoresTerm);
      watch.Await(name, State::kRunning);
      std::this_thread::sleep_for(300ms);
      const auto began = api_.clock().Now();
      api_.Delete({name});
      gone.values.push_back(Ms((watch.Await(name, State::kGone) - began).count()) - 1000);
    }
    Print(gone);
  }

  void Burst() {
    Result burst{.name = fmt::format("cluster: {} pods at once, all Running stored", plan_.pods),
                 .unit = "ms"};
    burst.ratio = 1.2;
    burst.floor = {raw_.BestBurstMs(view_, plan_.pods)};
    PodWatch watch(api_);
    const auto names = NamesOf("burst", plan_.pods);
    const auto began = api_.clock().Now();
    CreateAll(api_, names, kWaits);
    burst.values = {Ms((watch.AwaitAll(names, State::kRunning) - began).count())};
    Print(burst);
    api_.Delete(names);
    watch.AwaitAll(names, State::kGone);
  }

 private:
  ClusterApi& api_;
  harness::RuntimeView& view_;
  Raw& raw_;
  const Plan& plan_;
};

void RunOnContainerd(const Plan& plan) {
  if (!plan.Has("start") && !plan.Has("delete") && !plan.Has("burst")) return;
  if (geteuid() != 0) {
    std::fprintf(stderr, "start, delete, burst SKIPPED: they run containers, which needs root\n");
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
  }
  CHECK(run("stop") == 0, "{}", harness::ReadFile(dir / "log"));
}

// On a runtime that takes no time.

/// Without an API server and without node-api, with that many pods.
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

/// The bytes of a memory over TLS, once for each connection.
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
      : api_(api), node_(fake.node()), processes_(fake.node()), plan_(plan) {}

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

  /// Each that came in a minute is told on stderr.
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
      if (part.find(" /") == std::string::npos) continue;  // between two of them
      const bool beat = part.find("/leases/") != std::string::npos ||
                        part.find("/api/v1/nodes/") != std::string::npos;
      std::fprintf(stderr, "%s%s\n", part.c_str(), beat ? "" : " (counts)");
      if (!beat) ++count;
    }
    requests.values = {static_cast<double>(count) * 10 / kSpan.count()};
    Print(requests);
  }

  void Services() {
    constexpr int kBatch = 250, kBatches = 400;
    constexpr auto kPeriod = 50ms;
    const std::string put = fmt::format(
        R"(repeat {} put /api/v1/namespaces/default/services/busy {{"apiVersion":"v1","kind":)"
        R"("Service","metadata":{{"name":"busy","namespace":"default","annotations":{{"filler":)"
        R"("{}"}}}},"spec":{{"clusterIP":"10.0.0.9","ports":[{{"port":80}}]}}}})",
        kBatch, std::string(800, 'x'));
    const double before = processes_.CpuSecondsOf("pod-worker");
    const auto began = api_.clock().Now();
    for (int i = 0; i < kBatches; ++i) {
      const auto done = api_.process().Send(put);
      CHECK(done.ok(), "{}", done.status());
      const Duration left = began + (i + 1) * Duration(kPeriod) - api_.clock().Now();
      if (left > Duration{0}) std::this_thread::sleep_for(left);
    }
    const double seconds = MsSince(api_, began) / 1000;
    std::this_thread::sleep_for(1s);  // what has not been read yet
    Result changes{.name = "cluster: changes of a Service of 1 KB in a second", .unit = ""};
    changes.values = {kBatch * kBatches / seconds};
    Print(changes);
    Result cpu{.name = "cluster: CPU of pod-worker for them", .unit = "% of a core"};
    cpu.limit_p50 = 10;
    cpu.values = {(processes_.CpuSecondsOf("pod-worker") - before) / seconds * 100};
    Print(cpu);
  }

  /// From the first answer of 200 until the server has the pod ready.
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
    (void)LogMs(bytes);  // what is there from the first one on
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
  /// How many bytes are in its lines.
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
  harness::Node& node_;
  const Processes processes_;
  const Plan& plan_;
};

void RunOnFake(const Plan& plan) {
  const std::set<std::string> here = {"memory", "steady", "services", "probes", "logs"};
  if (std::ranges::none_of(here, [&](const auto& part) { return plan.Has(part); })) return;
  const double standalone = plan.Has("memory") ? StandaloneMb(plan.pods) : 0;
  ClusterApi api;
  FakeNode fake(api.Config(), api.Flags());
  StartNodeApi(fake.node());
  OnFake bench(api, fake, plan);
  if (plan.Has("memory") || plan.Has("steady")) bench.CreatePods();
  if (plan.Has("memory")) bench.Memory(standalone);
  if (plan.Has("steady")) bench.SteadyState();
  if (plan.Has("probes")) bench.Probes();
  if (plan.Has("services")) bench.Services();
  if (plan.Has("logs")) bench.Logs();
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("A node of an API server");
  splitlet::bench::Plan plan{.rounds = 20, .pods = 100, .parts = {}};
  app.add_option("--rounds", plan.rounds, "repetitions of what is done to one pod");
  app.add_option("--pods", plan.pods, "pods of the burst and of the idle node");
  std::vector<std::string> parts;
  app.add_option("--part", parts,
                 "start, delete, burst; memory, steady, probes, services, logs; all without it");
  CLI11_PARSE(app, argc, argv);
  plan.parts = {parts.begin(), parts.end()};
  splitlet::bench::RunOnContainerd(plan);
  splitlet::bench::RunOnFake(plan);
  return 0;
}
