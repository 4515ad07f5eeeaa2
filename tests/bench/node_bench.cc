// Measures the node on real containerd against raw CRI calls from the same client in the same run.
// Needs root. Usage: node_bench [--rounds N] [--pods N] [--part NAME ...]

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "libs/cri/grpc_runtime.h"
#include "libs/kube/pod_types.h"
#include "runtime/v1/api.pb.h"
#include "tests/bench/processes.h"
#include "tests/bench/raw.h"
#include "tests/bench/result.h"
#include "tests/harness/node.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;
using harness::WaitFor;

constexpr const char* kImage = "splitlet.local/busybox:1";
constexpr const char* kScript = "trap 'exit 0' TERM; sleep 100000 & wait";
constexpr const char* kShortScript = "sleep 0.5";
/// The first process of a container ignores TERM unless it has a handler.
constexpr const char* kStubbornScript = "exec sleep 100000";

/// From the end of the process to the first answer of the runtime that shows it.
double TellsExitAfterMs(Raw& raw, const cri::ContainerId& id) {
  while (true) {
    const auto status = raw.StatusOf(id);
    const int64_t now = ToNanos(raw.clock().WallNow());
    if (status.state == cri::ContainerState::kExited) return Ms(now - status.finished_at_ns);
    std::this_thread::sleep_for(1ms);
  }
}

/// Additional fields of a manifest's container and pod.
constexpr const char* kThreeVolumes = R"(    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: memory, mountPath: /memory}
    - {name: self, mountPath: /self}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: self, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
)";
constexpr const char* kAllOfIt = R"(    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {cpu: 500m, memory: 64Mi}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 5}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 10}
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: memory, mountPath: /memory}
    - {name: self, mountPath: /self}
    - {name: host, mountPath: /host, readOnly: true}
    - {name: joined, mountPath: /joined}
  initContainers:
  - {name: first, image: splitlet.local/busybox:1, command: ["true"]}
  - name: beside
    image: splitlet.local/busybox:1
    restartPolicy: Always
    command: [/bin/sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: self, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: host, hostPath: {path: /etc, type: Directory}}
  - name: joined
    projected: {sources: [{downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}
)";

std::string Manifest(const std::string& name, const std::string& script,
                     const std::string& image = kImage) {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  terminationGracePeriodSeconds: "
      "1\n  containers:\n"
      "  - name: app\n    image: {}\n    command: [\"/bin/sh\", \"-c\", \"{}\"]\n",
      name, image, script);
}

/// A registry on loopback, about as fast as a gigabit network; it ends with the object.
class Registry {
 public:
  Registry() {
    keeper_.Start("registry",
                  {.argv = {"python3", harness::SourceDir() + "/tests/chaos/registry.py",
                            std::to_string(kPort), "100000000"},
                   .env = {},
                   .output = dir_ / "said"});
  }
  /// Another image for each name.
  static std::string Image(int megabytes, const std::string& name) {
    return fmt::format("127.0.0.1:{}/large/{}/{}:1", kPort, megabytes, name);
  }
  /// Number of large layers that it has started to send.
  int Begun() const {
    const std::string said = harness::ReadFile(dir_ / "said");
    int count = 0;
    for (size_t at = said.find("begins"); at != std::string::npos; at = said.find("begins", at + 1))
      ++count;
    return count;
  }

 private:
  static constexpr int kPort = 18501;
  const harness::TempDir dir_{"br"};
  harness::Keeper keeper_;
};

class Bench {
 public:
  Bench(harness::Node& node, Raw& raw, harness::RuntimeView& view, int rounds)
      : node_(node), raw_(raw), view_(view), processes_(node), rounds_(rounds) {}

  /// A pod of the node that serves as model for raw pods.
  void TakeModel(const std::string& endpoint, const std::string& folder) {
    const auto model = [&](const std::string& name, const char* more) {
      node_.PutManifest(name + ".yaml", Manifest(name, kScript) + more);
      CHECK(WaitFor(60s, [&] { return node_.IsRunning(name); }), "{} does not run", name);
      RawConfig config = ConfigOf(endpoint, view_.RunningOf(name).at(0), folder + "/" + name);
      node_.RemoveManifest(name + ".yaml");
      CHECK(WaitFor(60s, [&] { return node_.IsGone(name); }));
      return config;
    };
    with_volumes_ = model("with-volumes", kThreeVolumes);
    plain_ = model("plain", "");
    raw_.Use(plain_);
  }

  void StartAndStop() {
    Result start{.name = "one static pod: manifest to running", .unit = "ms"};
    start.overhead_p50 = 25;
    start.overhead_p99 = 60;
    Result stop{.name = "manifest removed to sandbox stopped", .unit = "ms"};
    stop.overhead_p50 = 50;
    for (int i = 0; i < rounds_; ++i) {
      RawOnce(i, start, stop);
      SplitletOnce(fmt::format("one-{}", i), "", start.values, stop.values);
    }
    Print(start);
    Print(stop);
  }

  void Restart() {
    Result restart{.name = "container exit to its successor running", .unit = "ms"};
    restart.overhead_p50 = 40;
    Result told{.name = "of it: exit to the runtime telling it, asked each ms", .unit = "ms"};
    for (int i = 0; i < rounds_; ++i) {
      RawRestart(i, restart, told);
      SplitletRestart(i, restart);
    }
    Print(restart);
    Print(told);
  }

  void RestartPolling() {
    node_.StopProcess("pleg");
    node_.SetEnv("SPLITLET_FAILPOINTS",
                 "cri.get-container-events.before=return(unimplemented,off);"
                 "cri.subscribe.before=return(unimplemented,off)");
    node_.StartProcess("pleg");
    SettleFor(2s);
    Result restart{.name = "the same without an event stream", .unit = "ms"};
    restart.overhead_p50 = 1100;
    Result told;
    for (int i = 0; i < rounds_; ++i) {
      RawRestart(i, restart, told);
      SplitletRestart(i, restart);
    }
    Print(restart);
  }

  /// Keeps the pods of the last round.
  void Burst(int pods) {
    Result burst{.name = fmt::format("{} pods at once: all running", pods), .unit = "ms"};
    burst.ratio = 1.10;
    burst.floor = {raw_.BestBurst(view_, pods).started_ms};
    Result cpu{.name = fmt::format("{} pods at once: CPU of all seven", pods), .unit = "s"};
    std::vector<double> tries;
    for (int i = 0; i < kBurstTries; ++i) {
      if (i > 0) RemoveBurst(pods);
      const double before = processes_.CpuSeconds();
      tries.push_back(SplitletBurst(pods, ""));
      cpu.values.push_back(processes_.CpuSeconds() - before);
    }
    burst.values = {std::ranges::min(tries)};
    Print(burst);
    Print(cpu);
  }

  /// Pods that end at TERM, and pods that ignore it and are killed after a grace period of a
  /// second.
  void Removal(int pods) {
    constexpr int kRounds = 3;
    for (const auto& [script, which] :
         {std::pair(kScript, "that heed TERM"), std::pair(kStubbornScript, "that ignore TERM")}) {
      Result end{
          .name = fmt::format("{} pods {} removed at once: all containers exited", pods, which),
          .unit = "ms"};
      Result killed{.name = "of them killed", .unit = "pods"};
      for (int i = 0; i < kRounds; ++i) {
        PutAll(pods, BurstPrefix(pods), "", script);
        AwaitRunning(pods);
        SettleFor(5s);
        const auto [took_ms, were_killed] = ContainersEnd(pods);
        end.values.push_back(took_ms);
        killed.values.push_back(were_killed);
      }
      Print(end);
      Print(killed);
    }
  }

  /// A burst of pods during the pull of a large image from a registry on loopback. Compared with
  /// the same burst without the pull, and with raw calls, where the runtime alone does both.
  void Pull(int pods) {
    constexpr int kRounds = 3, kMegabytes = 500;
    const Registry registry;
    Result burst{.name = fmt::format("{} pods at once beside the pull of {} MB: all running", pods,
                                     kMegabytes),
                 .unit = "ms"};
    burst.ratio = 1.2;
    Result raw{.name = "raw pods at once beside it, against raw ones alone", .unit = "ms"};
    Result pull{.name = "that pull, from its first byte until its container runs", .unit = "ms"};
    for (int i = 0; i < kRounds; ++i) {
      burst.floor.push_back(SplitletBurst(pods, ""));
      RemoveBurst(pods);
      const std::string name = fmt::format("pulled-{}", i);
      const std::string pulled = registry.Image(kMegabytes, name);
      int begun = registry.Begun();
      node_.PutManifest(name + ".yaml", Manifest(name, kScript, pulled));
      AwaitLarge(registry, begun);
      const int64_t began = ToNanos(raw_.clock().WallNow());
      burst.values.push_back(SplitletBurst(pods, ""));
      CHECK(WaitFor(300s, [&] { return node_.IsRunning(name); }), "{}", node_.LogTails());
      pull.values.push_back(Ms(raw_.StartedAt(view_.RunningOf(name).at(0).id) - began));
      node_.RemoveManifest(name + ".yaml");
      RemoveBurst(pods);
      RemoveImage(pulled);
      raw.floor.push_back(raw_.BurstOf(view_, pods, kRawWidth).started_ms);
      const std::string image = registry.Image(kMegabytes, fmt::format("raw-{}", i));
      begun = registry.Begun();
      std::jthread pulling([&] {
        const auto done = view_.runtime().PullImage(image, nullptr, {}, After(view_.clock(), 300s));
        CHECK(done.ok(), "{}", done.status());
      });
      AwaitLarge(registry, begun);
      raw.values.push_back(raw_.BurstOf(view_, pods, kRawWidth).started_ms);
      pulling.join();
      RemoveImage(image);
    }
    for (const auto* result : {&burst, &raw, &pull}) Print(*result);
  }

  /// Compared with raw calls for plain pods, alternating, so that a slow minute affects both; and
  /// the cost of the volumes alone in the runtime.
  void Volumes(int pods) {
    Result start{.name = fmt::format("{} pods with 3 volumes at once: all running", pods),
                 .unit = "ms"};
    Result stop{.name = "the same removed at once: all sandboxes stopped", .unit = "ms"};
    Result raw_start{.name = "raw pods with the same volumes at once, against plain raw ones",
                     .unit = "ms"};
    Result raw_stop{.name = "their end", .unit = "ms"};
    start.ratio = stop.ratio = 1.15;
    const auto raw = [&](const RawConfig& config, int width) {
      raw_.Use(config);
      return raw_.BurstOf(view_, pods, width);
    };
    const auto add = [](const Raw::Burst& took, std::vector<double>& starts,
                        std::vector<double>& stops) {
      starts.push_back(took.started_ms);
      stops.push_back(took.stopped_ms);
    };
    for (const int width : kTurnWidths) {
      add(raw(plain_, width), start.floor, stop.floor);
      start.values.push_back(SplitletBurst(pods, kThreeVolumes));
      SettleFor(5s);
      stop.values.push_back(SplitletBurstEnd(pods));
      add(raw(with_volumes_, width), raw_start.values, raw_stop.values);
    }
    raw_.Use(plain_);
    raw_start.floor = start.floor;
    raw_stop.floor = stop.floor;
    for (const auto* result : {&start, &stop, &raw_start, &raw_stop}) Print(*result);
  }

  /// A pod with an init container, a sidecar, probes, five volumes and limits, compared with a
  /// plain pod.
  void AllOfIt() {
    Result start{.name = "one pod with all of it, to its container running, against a plain one",
                 .unit = "ms"};
    Result stop{.name = "its removal to sandbox stopped, against a plain one", .unit = "ms"};
    for (int i = 0; i < rounds_; ++i) {
      SplitletOnce(fmt::format("plain-{}", i), "", start.floor, stop.floor);
      SplitletOnce(fmt::format("whole-{}", i), kAllOfIt, start.values, stop.values);
    }
    Print(start);
    Print(stop);
  }

  void MemoryIdle() { processes_.ShowIdle(0); }
  /// While the pods of a burst run.
  void MemoryAndCpu(int pods) { processes_.ShowIdle(pods); }

  void MemoryAfter() {
    SettleFor(12s);
    Result idle{.name = "memory of all seven, no pods any more (PSS)", .unit = "MB"};
    idle.values = {processes_.SixMb() + processes_.ServerMb()};
    Print(idle);
  }

  /// The duration of a probe by pod-worker's own metric, compared with the same command from here,
  /// in the same container and at the same time.
  void ExecProbes() {
    const std::string name = "probed";
    node_.PutManifest(name + ".yaml",
                      Manifest(name, kScript) +
                          "    readinessProbe: {exec: {command: [\"true\"]}, periodSeconds: 1}\n");
    CHECK(WaitFor(60s, [&] { return node_.IsRunning(name); }), "{}", node_.LogTails());
    const auto id = view_.RunningOf(name).at(0).id;
    SettleFor(3s);
    const Probed before = ProbedSoFar();
    Result call{.name = "an exec probe, mean, against a raw ExecSync", .unit = "ms"};
    for (int i = 0; i < rounds_; ++i) {
      const auto began = view_.clock().Now();
      const auto done = view_.runtime().ExecSync(id, {{"true"}, 10s},
                                                 After(view_.clock(), std::chrono::seconds{20}));
      CHECK(done.ok() && done->exit_code == 0);
      call.floor.push_back(Ms((view_.clock().Now() - began).count()));
      std::this_thread::sleep_for(700ms);
    }
    const Probed after = ProbedSoFar();
    const double runs = after.runs - before.runs;
    CHECK(runs > 0);
    call.values = {(after.seconds - before.seconds) / runs * 1000};
    Print(call);
    Result cpu{.name = "an exec probe: CPU of pod-worker", .unit = "ms"};
    cpu.values = {(after.cpu_seconds - before.cpu_seconds) / runs * 1000};
    Print(cpu);
    node_.RemoveManifest(name + ".yaml");
    CHECK(WaitFor(60s, [&] { return node_.IsGone(name); }));
  }

  void RemoveBurst(int pods) {
    RemoveManifests(pods, BurstPrefix(pods));
    AwaitNothing();
  }

 private:
  struct Probed {
    double runs = 0, seconds = 0, cpu_seconds = 0;
  };
  Probed ProbedSoFar() const {
    Probed probed{.cpu_seconds = processes_.CpuSecondsOf("pod-worker")};
    std::istringstream metrics(node_.HttpGet("pod-worker", "/metrics"));
    for (std::string line; std::getline(metrics, line);) {
      const auto add = [&line](std::string_view metric, double& sum) {
        if (line.starts_with(metric)) sum += std::stod(line.substr(line.rfind(' ')));
      };
      add("prober_probe_duration_seconds_count", probed.runs);
      add("prober_probe_duration_seconds_sum", probed.seconds);
    }
    return probed;
  }
  static constexpr int kRawWidth = 8;  // raw calls at a time; near the best of all widths

  /// True when the registry has started to send more layers than before.
  void AwaitLarge(const Registry& registry, int before) {
    CHECK(WaitEvery(10ms, 120s, [&] { return registry.Begun() > before; }), "{}", node_.LogTails());
  }
  /// Images are large, and their files may be in memory.
  void RemoveImage(const std::string& image) {
    const Status removed = view_.runtime().RemoveImage(image, After(view_.clock(), 60s));
    CHECK(removed.ok(), "{}", removed);
  }
  static std::string BurstPrefix(int pods) { return fmt::format("burst{}", pods); }

  void RawOnce(int i, Result& start, Result& stop) {
    const auto pod = raw_.Start(i);
    start.floor.push_back(Ms(raw_.StartedAt(pod.container) - pod.began_ns));
    SettleFor(300ms);
    const auto began = raw_.clock().Now();
    raw_.Stop(pod, 1);
    stop.floor.push_back(Ms((raw_.clock().Now() - began).count()));
    raw_.Remove(pod);
  }

  /// `more`: fields of its container and of the pod.
  void SplitletOnce(const std::string& name, const std::string& more, std::vector<double>& starts,
                    std::vector<double>& stops) {
    const int64_t began = ToNanos(raw_.clock().WallNow());
    node_.PutManifest(name + ".yaml", Manifest(name, kScript) + more);
    CHECK(WaitFor(60s, [&] { return node_.IsRunning(name); }), "{} does not run", name);
    const auto running = view_.RunningOf(name);
    const auto app = std::ranges::find(running, "app", &cri::Container::name);
    CHECK(app != running.end(), "{}", view_.Describe());
    starts.push_back(Ms(raw_.StartedAt(app->id) - began));
    SettleFor(300ms);
    const auto removed = raw_.clock().Now();
    node_.RemoveManifest(name + ".yaml");
    CHECK(WaitEvery(5ms, 60s, [&] { return view_.ReadySandboxesOf(name).empty(); }));
    stops.push_back(Ms((raw_.clock().Now() - removed).count()));
    CHECK(WaitFor(60s, [&] { return node_.IsGone(name); }));
  }

  void RawRestart(int i, Result& restart, Result& told) {
    auto pod = raw_.Start(1000 + i, kShortScript);
    told.values.push_back(TellsExitAfterMs(raw_, pod.container));
    const int64_t began = ToNanos(raw_.clock().WallNow());
    raw_.CreateAndStart(pod, 1);
    restart.floor.push_back(Ms(raw_.StartedAt(pod.container) - began));
    raw_.Stop(pod, 0);
    raw_.Remove(pod);
  }

  void SplitletRestart(int i, Result& restart) {
    const std::string name = fmt::format("again-{}", i);
    node_.PutManifest(name + ".yaml", Manifest(name, kShortScript));
    std::vector<cri::Container> own;
    CHECK(WaitFor(60s, [&] {
      own.clear();
      for (const auto& c : view_.Containers())
        if (harness::IsPodNamed(c.labels.at(std::string(kube::kPodNameLabel)), name))
          own.push_back(c);
      return own.size() == 2 && own[0].state != cri::ContainerState::kCreated;
    }));
    restart.values.push_back(
        Ms(raw_.StatusOf(own[0].id).started_at_ns - raw_.StatusOf(own[1].id).finished_at_ns));
    node_.RemoveManifest(name + ".yaml");
    CHECK(WaitFor(60s, [&] { return node_.IsGone(name); }));
  }

  void PutAll(int pods, const std::string& prefix, const std::string& more,
              const char* script = kScript) {
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      node_.PutManifest(name + ".yaml", Manifest(name, script) + more);
    }
  }

  void RemoveManifests(int pods, const std::string& prefix) {
    for (int i = 0; i < pods; ++i) node_.RemoveManifest(fmt::format("{}-{}.yaml", prefix, i));
  }
  void AwaitNothing() {
    CHECK(WaitEvery(250ms, 300s,
                    [&] { return node_.Pods().empty() && view_.ReadySandboxes().empty(); }),
          "{}{}", view_.Describe(), node_.LogTails());
  }

  double SplitletBurst(int pods, const std::string& more) {
    const double cpu = processes_.CpuSeconds();
    const int64_t began = ToNanos(raw_.clock().WallNow());
    PutAll(pods, BurstPrefix(pods), more);
    AwaitRunning(pods);
    int64_t last = began;
    for (const auto& c : RunningOfBurst(pods)) last = std::max(last, raw_.StartedAt(c.id));
    std::fprintf(stderr, "burst of %d pods: %.0f ms, %.2f s of CPU in all seven\n", pods,
                 Ms(last - began), processes_.CpuSeconds() - cpu);
    return Ms(last - began);
  }

  /// Time until all sandboxes are stopped; returns when the pods are gone.
  double SplitletBurstEnd(int pods) {
    const double cpu = processes_.CpuSeconds();
    const auto removed = raw_.clock().Now();
    RemoveManifests(pods, BurstPrefix(pods));
    // Nothing watches the raw calls. The few listings cost the runtime little.
    const auto left = [this] { return view_.ReadySandboxes().size(); };
    const size_t few = static_cast<size_t>(pods) / 5;
    CHECK(WaitEvery(500ms, 300s, [&] { return left() <= few; }));
    CHECK(WaitEvery(50ms, 300s, [&] { return left() == 0; }));
    const double took = Ms((raw_.clock().Now() - removed).count());
    std::fprintf(stderr, "their end: %.0f ms, %.2f s of CPU in all seven\n", took,
                 processes_.CpuSeconds() - cpu);
    AwaitNothing();
    return took;
  }

  struct Ended {
    double took_ms, killed;
  };
  /// Uses the runtime's times, until the last container of the burst has exited. A container's
  /// status is read as soon as it has ended, before gc removes it.
  Ended ContainersEnd(int pods) {
    std::set<std::string> left;
    for (const auto& container : RunningOfBurst(pods)) left.insert(container.id.str());
    const int64_t began = ToNanos(raw_.clock().WallNow());
    int64_t last = began;
    int killed = 0;
    RemoveManifests(pods, BurstPrefix(pods));
    CHECK(WaitEvery(100ms, 300s,
                    [&] {
                      std::set<std::string> running;
                      for (const auto& container : RunningOfBurst(pods))
                        running.insert(container.id.str());
                      for (const auto& id : left) {
                        if (running.contains(id)) continue;
                        const auto status = raw_.StatusOf(cri::ContainerId(id));
                        last = std::max(last, status.finished_at_ns);
                        killed += status.exit_code == 137 ? 1 : 0;
                      }
                      left = std::move(running);
                      return left.empty();
                    }),
          "{}", node_.LogTails());
    AwaitNothing();
    return {.took_ms = Ms(last - began), .killed = static_cast<double>(killed)};
  }

  std::vector<cri::Container> RunningOfBurst(int pods) {
    auto running = view_.Running();
    std::erase_if(running, [&](const cri::Container& c) {
      return !c.labels.at(std::string(kube::kPodNameLabel)).starts_with(BurstPrefix(pods) + "-");
    });
    return running;
  }

  void AwaitRunning(int pods) {
    CHECK(WaitEvery(500ms, 300s,
                    [&] { return RunningOfBurst(pods).size() == static_cast<size_t>(pods); }),
          "{}{}", view_.Describe(), node_.LogTails());
  }
  void SettleFor(Duration d) {
    harness::HoldsFor(d, [] { return true; });
  }

  harness::Node& node_;
  Raw& raw_;
  harness::RuntimeView& view_;
  const Processes processes_;
  int rounds_;
  RawConfig plain_, with_volumes_;  // models of raw pods
};

struct Plan {
  int rounds, pods;
  std::set<std::string> parts;  // empty: all parts
};

void Run(Bench& bench, const Plan& plan, const std::function<void()>& take_model) {
  const int pods = plan.pods;
  const auto wanted = [&plan](const std::string& part) {
    return plan.parts.empty() || plan.parts.contains(part);
  };
  if (wanted("memory")) bench.MemoryIdle();
  take_model();
  if (wanted("start")) bench.StartAndStop();
  if (wanted("restart")) bench.Restart();
  if (wanted("burst")) {
    bench.Burst(pods / 2);
    bench.RemoveBurst(pods / 2);
    bench.Burst(pods);
    bench.MemoryAndCpu(pods);
    bench.RemoveBurst(pods);
    bench.MemoryAfter();
  }
  if (wanted("pull")) bench.Pull(pods / 2);
  if (wanted("removal")) bench.Removal(pods);
  if (wanted("volumes")) bench.Volumes(pods);
  if (wanted("all")) bench.AllOfIt();
  if (wanted("probes")) bench.ExecProbes();
  if (wanted("polling")) bench.RestartPolling();
}

int Main(const Plan& plan) {
  const harness::TempDir dir("bn");
  const std::string script = harness::SourceDir() + "/deploy/local/runtime.sh";
  const auto run = [&](const std::string& action) {
    return harness::RunToEnd(
        {.argv = {"bash", script, action, dir.path()}, .env = {}, .output = dir.path() + "/log"},
        180s);
  };
  CHECK(run("start") == 0, "{}", harness::ReadFile(dir.path() + "/log"));
  const std::string endpoint = "unix://" + dir.path() + "/containerd.sock";
  {
    harness::RuntimeView view(endpoint);
    Raw raw(view, dir.path() + "/raw-logs");
    // The defaults of the configuration, as users have them.
    harness::Node node(
        {.runtime_endpoint = endpoint,
         .config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"});
    node.Start();
    Bench bench(node, raw, view, plan.rounds);
    Run(bench, plan, [&] { bench.TakeModel(endpoint, dir.path() + "/model"); });
  }
  CHECK(run("stop") == 0, "{}", harness::ReadFile(dir.path() + "/log"));
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("The node against raw CRI calls on real containerd");
  int rounds = 20;
  int pods = 100;
  app.add_option("--rounds", rounds, "repetitions of each single-pod measurement");
  app.add_option("--pods", pods, "pods of the large burst");
  std::vector<std::string> parts;
  app.add_option("--part", parts,
                 "memory, start, restart, burst, pull, removal, volumes, all, probes, polling; all "
                 "of them without it");
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main({rounds, pods, {parts.begin(), parts.end()}});
}
