#include "tests/bench/outage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/http/test_server.h"
#include "libs/kube/codec.h"
#include "tests/bench/cluster_api.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

namespace core = k8s::io::api::core::v1;
using namespace std::chrono_literals;
using State = PodWatch::State;

constexpr int kManifests = 5;
constexpr Duration kFlip = 3s;     // time ready, then time unready
constexpr Duration kReturn = 30s;  // time limit for the server to have everything
constexpr std::array<const char*, 3> kGrowing = {"status", "config-source", "pod-worker"};

class Outage {
 public:
  explicit Outage(int pods) {
    for (int i = 0; i < pods; ++i)
      (i % 2 == 0 ? crashing_ : flapping_).push_back(fmt::format("pod-{}", i));
  }

  void Start() {
    PodWatch watch(api_);
    std::vector<std::string> pods;
    for (const auto& name : crashing_) pods.push_back(PodJson(name, ""));
    for (const auto& name : flapping_)
      pods.push_back(
          PodJson(name, fmt::format(R"(,"readinessProbe":{{"periodSeconds":1,"failureThreshold":1,)"
                                    R"("httpGet":{{"host":"127.0.0.1","port":{},"path":"/"}}}})",
                                    target_.port)));
    api_.Create(pods);
    watch.AwaitAll(crashing_, State::kReady);
    watch.AwaitAll(flapping_, State::kReady);
    for (int i = 0; i < kManifests; ++i) PutManifest(i);
    CHECK(WaitEvery(100ms, kLimit, [this] { return Differing().empty(); }), "{}",
          fake_.node().LogTails());
  }

  void Measure(Duration away) {
    Change(30s);  // from then on the preconditions are met
    const auto before = Memory();
    CHECK(api_.process().SetAway(true).ok());
    for (const auto& name : crashing_) {
      fake_.Tell(fmt::format("behave {} app exit_after=5s exit_code=1", name));
      fake_.Tell(fmt::format("exit {} app 1", name));
    }
    Change(away);
    const auto after = Memory();
    const double minutes = std::chrono::duration<double>(away).count() / 60;
    for (const char* process : kGrowing) {
      Result growth{.name = fmt::format("cluster: growth of {} in {:g} min without its server",
                                        process, minutes),
                    .unit = "MB"};
      growth.limit_p50 = 4;
      growth.values = {after.at(process) - before.at(process)};
      Print(growth);
    }
    std::fprintf(stderr, "statuses that wait at its end: %.0f\n", Unsent());
    Return();
  }

 private:
  void Return() {
    // From now on these pods stay.
    for (const auto& name : crashing_) fake_.Tell(fmt::format("behave {} app exit_code=0", name));
    const auto back = api_.clock().Now();
    CHECK(api_.process().SetAway(false).ok());
    std::set<std::string> differing;
    (void)WaitEvery(100ms, kReturn, [&] {
      differing = Differing();
      return differing.empty() && Unsent() == 0;
    });
    Result all{.name = "cluster: server back to all of it stored", .unit = "ms"};
    all.values = {Ms((api_.clock().Now() - back).count())};
    for (const auto& pod : differing)
      std::fprintf(stderr, "not as the node has it: %s\n", pod.c_str());
    Result missing{.name = "cluster: pods not stored 30 s after it is back", .unit = ""};
    missing.limit_p50 = 0;
    missing.values = {std::max(static_cast<double>(differing.size()), Unsent())};
    Print(missing);
    Print(all);
    std::this_thread::sleep_for(kReturn);
    Result dropped{.name = "cluster: events given up meanwhile", .unit = ""};
    dropped.values = {Metric("splitlet_status_events_sent_total{result=\"dropped\"}").value_or(0)};
    Print(dropped);
  }

  /// Ends with all pods ready and all manifests present.
  void Change(Duration span) {
    const auto began = api_.clock().Now();
    for (int turn = 0; api_.clock().Now() - began < span; ++turn) {
      ready_ = turn % 2 == 0;
      const int manifest = turn / 2 % kManifests;
      if (ready_) {
        PutManifest(manifest);
      } else {
        RemoveManifest(manifest);
      }
      std::this_thread::sleep_for(kFlip);
    }
    ready_ = true;
    for (int i = 0; i < kManifests; ++i) PutManifest(i);
  }

  static std::string ManifestName(int number) { return fmt::format("static-{}", number); }
  void PutManifest(int number) {
    const std::string name = ManifestName(number);
    fake_.node().PutManifest(
        name + ".yaml",
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  containers:\n"
                    "  - {{name: app, image: splitlet.local/busybox:1}}\n",
                    name));
  }
  void RemoveManifest(int number) { fake_.node().RemoveManifest(ManifestName(number) + ".yaml"); }

  std::map<std::string, double> Memory() const {
    std::map<std::string, double> sizes;
    for (const char* process : kGrowing) {
      sizes[process] = processes_.MbOf(process);
      std::fprintf(stderr, "%s: %.1f MB\n", process, sizes[process]);
    }
    return sizes;
  }

  double Unsent() {
    const auto unsent = Metric("splitlet_status_unsent_pods");
    CHECK(unsent.has_value(), "status does not say how many statuses wait");
    return *unsent;
  }
  /// Unset: no such series, because it was never counted.
  std::optional<double> Metric(const std::string& series) {
    std::istringstream metrics(fake_.node().HttpGet("status", "/metrics"));
    for (std::string line; std::getline(metrics, line);)
      if (line.starts_with(series + " ")) return std::stod(line.substr(line.rfind(' ')));
    return std::nullopt;
  }

  struct Shown {
    std::string phase;
    bool ready = false;
    int restarts = 0;
    bool operator==(const Shown&) const = default;
  };
  std::map<std::string, Shown> AtServer() {
    const auto json = api_.process().Send("list /api/v1/namespaces/default/pods");
    CHECK(json.ok(), "{}", json.status());
    core::PodList list;
    const auto read = kube::DecodeInto(*json, "list", kube::Strictness::kLenient, list);
    CHECK(read.ok(), "{}", read.status());
    std::map<std::string, Shown> shown;
    for (const auto& pod : list.items()) {
      Shown& one = shown[pod.metadata().name()];
      one.phase = pod.status().phase();
      for (const auto& condition : pod.status().conditions())
        if (condition.type() == "Ready") one.ready = condition.status() == "True";
      for (const auto& container : pod.status().container_statuses())
        one.restarts += static_cast<int>(container.restart_count());
    }
    return shown;
  }
  /// Number of pods whose status differs between server and node, or exists on only one of them.
  std::set<std::string> Differing() {
    auto at_server = AtServer();
    std::set<std::string> names;
    for (const auto& pod : fake_.node().Pods()) {
      Shown here{.phase = pod.phase, .ready = pod.ready, .restarts = 0};
      for (const auto& container : pod.containers) here.restarts += container.restarts;
      const auto there = at_server.extract(pod.name);
      if (there.empty() || !(there.mapped() == here)) names.insert(pod.name);
    }
    for (const auto& [name, shown] : at_server) names.insert(name);
    const size_t wanted = crashing_.size() + flapping_.size() + kManifests;
    if (names.empty() && fake_.node().Pods().size() != wanted) names.insert("another number");
    return names;
  }

  std::vector<std::string> crashing_, flapping_;
  std::atomic<bool> ready_{true};
  const http::Server target_{[this](const std::string& request, int connection) {
    http::Says(ready_ ? "200 OK" : "500 Not Yet")(request, connection);
  }};
  ClusterApi api_;
  FakeNode fake_{api_.Config(), api_.Flags()};
  const Processes processes_{fake_.node()};
};

}  // namespace

void MeasureOutage(int pods, Duration away) {
  Outage outage(pods);
  outage.Start();
  outage.Measure(away);
}

}  // namespace splitlet::bench
