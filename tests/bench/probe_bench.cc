// Measures a thousand probes a second, half by HTTP and half by TCP: their cost in pod-worker, and
// their delay at a server of this program. Also a kill of pod-worker with a hundred probed pods. On
// a runtime that takes no time (fake-cri); needs no root. Usage: probe_bench [--pods N]
// [--containers N] [--seconds N] [--part cost|kill]...

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <thread>

#include "splitlet/v1/records.pb.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/probe_target.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 600s;

/// Readiness by HTTP and liveness by TCP for each container once a second; no probes without a
/// target.
std::string Manifest(const std::string& name, int containers, uint16_t port) {
  std::string yaml = fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  terminationGracePeriodSeconds: "
      "1\n  containers:\n",
      name);
  for (int i = 0; i < containers; ++i) {
    yaml += fmt::format(
        "  - name: c{}\n    image: splitlet.local/busybox:1\n    command: [sleep, \"1000\"]\n", i);
    if (port == 0) continue;
    yaml += fmt::format(
        "    readinessProbe: {{httpGet: {{host: 127.0.0.1, port: {0}, path: /{1}/{2}}}, "
        "periodSeconds: 1, timeoutSeconds: 5}}\n"
        "    livenessProbe: {{tcpSocket: {{host: 127.0.0.1, port: {0}}}, periodSeconds: 1, "
        "timeoutSeconds: 5}}\n",
        port, name, i);
  }
  return yaml;
}

/// Deviation of each interval between requests from one second.
std::vector<double> DistancesMs(const Asked& asked) {
  std::vector<double> distances;
  for (const auto& [path, times] : asked)
    for (size_t i = 1; i < times.size(); ++i) {
      const Duration step = times[i] - times[i - 1];
      distances.push_back(std::abs(Ms(step.count()) - 1000));
    }
  return distances;
}

/// The highest number of requests within any second.
size_t MostASecond(const Asked& asked) {
  std::vector<Clock::Time> all;
  for (const auto& [path, times] : asked) all.insert(all.end(), times.begin(), times.end());
  std::ranges::sort(all, {}, &Clock::Time::monotonic);
  size_t most = 0, first = 0;
  for (size_t last = 0; last < all.size(); ++last) {
    while (all[last] - all[first] > 1s) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

/// Deviation of each request from its period, except the first, which makes up for missed ones.
std::vector<double> OffStepMs(const Asked& before, const Asked& after) {
  std::vector<double> off;
  for (const auto& [path, times] : after) {
    const auto known = before.find(path);
    CHECK(known != before.end() && !known->second.empty(), "{} was not asked for before", path);
    for (size_t i = 1; i < times.size(); ++i) {
      const double late = std::fmod(Ms((times[i] - known->second.back()).count()), 1000);
      off.push_back(std::min(late, 1000 - late));
    }
  }
  return off;
}

void Show(std::string name, const char* unit, std::vector<double> values, double limit = -1) {
  Result result{.name = std::move(name), .unit = unit};
  result.values = std::move(values);
  result.limit_p50 = limit;
  Print(result);
}

class Bench {
 public:
  Bench(FakeNode& fake, ProbeTarget& target, int pods, int containers)
      : fake_(fake), target_(target), pods_(pods), containers_(containers) {}

  void Put(const std::string& prefix, bool probed) {
    for (int i = 0; i < pods_; ++i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      fake_.node().PutManifest(name + ".yaml",
                               Manifest(name, containers_, probed ? target_.port : 0));
    }
    const auto wanted = static_cast<size_t>(pods_ * containers_);
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake_.view().Running().size() == wanted; }), "{}",
          fake_.node().LogTails());
    std::this_thread::sleep_for(15s);
    target_.Take();
  }
  void Remove(const std::string& prefix) {
    for (int i = 0; i < pods_; ++i)
      fake_.node().RemoveManifest(fmt::format("{}-{}.yaml", prefix, i));
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake_.view().Running().empty(); }));
  }

  void Cost(int seconds) {
    const Processes processes(fake_.node());
    const auto cpu = [&] {
      const double before = processes.CpuSecondsOf("pod-worker");
      std::this_thread::sleep_for(std::chrono::seconds{seconds});
      return (processes.CpuSecondsOf("pod-worker") - before) / seconds * 100;
    };
    const std::string what =
        fmt::format("{} probes a second, half HTTP, half TCP: ", 2 * pods_ * containers_);
    Put("idle", false);
    Show(what + "CPU of pod-worker without them", "% of a core", {cpu()});
    Remove("idle");
    Put("probed", true);
    Show(what + "CPU of pod-worker", "% of a core", {cpu()}, 10);
    const Asked asked = target_.Take();
    Show(what + "requests by HTTP that came", "a second", {1.0 * CountOf(asked) / seconds});
    Show(what + "distance from the period", "ms", DistancesMs(asked));
    Remove("probed");
  }

  /// With one container per pod.
  void Kill() {
    const std::string what = fmt::format("kill of pod-worker beside {} probed pods: ", pods_);
    Put("kept", true);
    std::this_thread::sleep_for(5s);
    const Asked before = target_.Take();
    const auto began = fake_.view().clock().Now();
    fake_.node().Kill("pod-worker");
    CHECK(WaitEvery(5ms, kLimit, [&] { return Adopted(); }), "{}", fake_.node().LogTails());
    Show(what + "all adopted", "ms", {Ms((fake_.view().clock().Now() - began).count())}, 500);
    int unready = 0;
    while (fake_.view().clock().Now() - began < 10s) {
      unready += CountUnready();
      std::this_thread::sleep_for(50ms);
    }
    const Asked after = target_.Take();
    Show(what + "most requests within a second, against the mean before", "times",
         {1.0 * static_cast<double>(MostASecond(after)) / (1.0 * CountOf(before) / 5)}, 1.5);
    Show(what + "distance from the step of before", "ms", OffStepMs(before, after));
    Show(what + "pods told not to be ready, in all looks", "pods", {1.0 * unready}, 0);
    Remove("kept");
  }

 private:
  static double CountOf(const Asked& asked) {
    size_t requests = 0;
    for (const auto& [path, times] : asked) requests += times.size();
    return static_cast<double>(requests);
  }
  /// Answered by the new process only.
  bool Adopted() {
    const auto workers = fake_.node().Table<v1::WorkerRecord>("workers");
    return std::ranges::count_if(workers, [](const auto& entry) {
             return entry.second.state() == v1::SYNCING && entry.second.granted();
           }) == pods_;
  }
  int CountUnready() {
    int unready = 0;
    for (const auto& pod : fake_.node().Pods()) unready += pod.ready ? 0 : 1;
    return unready;
  }

  FakeNode& fake_;
  ProbeTarget& target_;
  const int pods_, containers_;
};

struct Plan {
  int pods = 50, containers = 10, seconds = 30;
  std::set<std::string> parts;  // empty: all parts
  bool Wants(const std::string& part) const { return parts.empty() || parts.contains(part); }
};

int Main(const Plan& plan) {
  ProbeTarget target;
  if (plan.Wants("cost")) {
    FakeNode fake(fmt::format("maxPods: {}\n", plan.pods + 10));
    Bench(fake, target, plan.pods, plan.containers).Cost(plan.seconds);
  }
  if (plan.Wants("kill")) {
    FakeNode fake;
    Bench(fake, target, 100, 1).Kill();
  }
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("Probes by HTTP and TCP");
  splitlet::bench::Plan plan;
  app.add_option("--pods", plan.pods, "pods on the node");
  app.add_option("--containers", plan.containers, "of each pod, with two probes each");
  app.add_option("--seconds", plan.seconds, "how long is measured");
  app.add_option("--part", plan.parts, "cost, kill; both without it");
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main(plan);
}
