// Measures a node with hundreds of pods: its cost while idle, the time until six restarted
// processes have adopted them, the way of one more pod, and the end of all pods at the same time.
// On a runtime that takes no time (fake-cri); needs no root.
// Usage: scale_bench [--pods N] [--rounds N] [--part way|idle|start|end]...

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include "libs/base/processes.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/pod_way.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 600s;
constexpr auto kMinute = 60s;
constexpr auto kFirstLooks = 90s;  // until every pod has had its first resync

class Scale {
 public:
  Scale(FakeNode& fake, size_t pods, int rounds)
      : fake_(fake), way_(fake.node(), fake.view()), pods_(pods), rounds_(rounds) {}

  void Alone() { start_.floor = Rounds("alone", stop_.floor); }
  void Beside() {
    start_.values = Rounds("beside", stop_.values);
    start_.ratio = stop_.ratio = 1.5;
    Print(start_);
    Print(stop_);
  }

  void CreateAll() {
    Result burst{.name = fmt::format("scale: {} pods at once, all running", pods_), .unit = "s"};
    const auto began = fake_.view().clock().Now();
    for (size_t i = 0; i < pods_; ++i) way_.Put(Name(i));
    AwaitRunning(pods_);
    burst.values = {SecondsSince(began)};
    Print(burst);
  }

  /// All six are stopped and started again; a pod counts as adopted when it has a worker and a
  /// status again.
  void Adopt() {
    Result adopt{.name = fmt::format("scale: start of the six until {} pods are adopted", pods_),
                 .unit = "s",
                 .limit_p50 = 3};
    const int before = fake_.Calls("StartContainer");
    for (const auto& process : ProcessNames()) fake_.node().StopProcess(process);
    const auto began = fake_.view().clock().Now();
    for (const auto& process : ProcessNames()) fake_.node().StartProcess(process);
    CHECK(WaitEvery(20ms, kLimit, [&] { return Adopted(); }), "{}", fake_.node().LogTails());
    adopt.values = {SecondsSince(began)};
    Print(adopt);
    CHECK(fake_.Calls("StartContainer") == before, "a container was started again");
  }

  /// Relists follow the default configuration; inspections are per pod. The first inspection after
  /// a start also reads the containers, whose status is not known yet.
  void IdleCalls() {
    std::this_thread::sleep_for(kFirstLooks);
    const Calls before = Count();
    std::this_thread::sleep_for(kMinute);
    const Calls after = Count();
    Result looks{.name = fmt::format("scale: looks at a pod in an idle minute, {} pods", pods_),
                 .unit = "calls for each pod",
                 .limit_p50 = 1};
    looks.values = {(after.statuses - before.statuses) / static_cast<double>(pods_)};
    Print(looks);
    Result lists{.name = fmt::format("scale: listings in an idle minute, {} pods", pods_),
                 .unit = "calls"};
    lists.values = {after.listings - before.listings};
    Print(lists);
  }

  void RemoveAll() {
    Result threads{.name = fmt::format("scale: most threads of a process, {} pods ending", pods_),
                   .unit = "threads",
                   .limit_p50 = 99};
    Result removal{.name = fmt::format("scale: {} pods removed at once, all ended", pods_),
                   .unit = "s"};
    const auto began = fake_.view().clock().Now();
    for (size_t i = 0; i < pods_; ++i) way_.Remove(Name(i));
    size_t most = 0;
    CHECK(WaitEvery(50ms, kLimit, [&] {
      for (const auto& process : ProcessNames())
        most = std::max(most, harness::ThreadsOf(fake_.node().keeper().PidOf(process)));
      return fake_.view().Running().empty();
    }));
    removal.values = {SecondsSince(began)};
    threads.values = {static_cast<double>(most)};
    Print(removal);
    Print(threads);
  }

 private:
  struct Calls {
    double statuses = 0, listings = 0;
  };

  static std::string Name(size_t i) { return fmt::format("many-{}", i); }
  double SecondsSince(Clock::Time began) const {
    return Ms((fake_.view().clock().Now() - began).count()) / 1000;
  }
  void AwaitRunning(size_t pods) {
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake_.view().Running().size() == pods; }), "{}",
          fake_.node().LogTails());
  }
  bool Adopted() {
    const auto workers = fake_.node().ListTable("workers");
    if (!workers.ok() || workers->size() < pods_) return false;
    const auto pods = fake_.node().Pods();
    const auto running = std::count_if(pods.begin(), pods.end(),
                                       [](const auto& pod) { return pod.phase == "Running"; });
    return static_cast<size_t>(running) >= pods_;
  }
  Calls Count() const {
    return {.statuses = 1.0 * fake_.Calls("PodSandboxStatus") + fake_.Calls("ContainerStatus"),
            .listings = 1.0 * fake_.Calls("ListPodSandbox") + fake_.Calls("ListContainers")};
  }
  std::vector<double> Rounds(const std::string& prefix, std::vector<double>& stops) {
    std::vector<double> starts;
    for (int i = 0; i < rounds_; ++i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      starts.push_back(way_.StartMs(name));
      std::this_thread::sleep_for(300ms);
      stops.push_back(way_.StopMs(name));
    }
    return starts;
  }

  FakeNode& fake_;
  PodWay way_;
  const size_t pods_;
  const int rounds_;
  Result start_{
      .name = fmt::format("scale: one pod's start beside {} others, against alone", pods_),
      .unit = "ms"};
  Result stop_{.name = fmt::format("scale: its removal beside {} others, against alone", pods_),
               .unit = "ms"};
};

/// `parts`: the parts to measure; empty: all.
int Main(size_t pods, int rounds, const std::set<std::string>& parts) {
  const auto asked = [&](const char* part) { return parts.empty() || parts.contains(part); };
  FakeNode fake(fmt::format("maxPods: {}\n", pods + 100));
  Scale scale(fake, pods, rounds);
  const Processes seven(fake.node());
  if (asked("way")) scale.Alone();
  scale.CreateAll();
  if (asked("idle")) {
    seven.ShowIdle(static_cast<int>(pods));
    scale.IdleCalls();
  }
  if (asked("way")) scale.Beside();
  if (asked("start")) scale.Adopt();
  if (asked("end")) scale.RemoveAll();
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("One pod beside hundreds of others");
  size_t pods = 500;
  int rounds = 20;
  app.add_option("--pods", pods, "pods on the node");
  app.add_option("--rounds", rounds, "pods that come and go one after the other");
  std::set<std::string> parts;
  app.add_option("--part", parts, "way, idle, start or end; all without it")
      ->check(CLI::IsMember({"way", "idle", "start", "end"}));
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main(pods, rounds, parts);
}
