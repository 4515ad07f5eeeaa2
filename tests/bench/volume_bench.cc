// Measures pods with volumes on a runtime that takes no time (fake-cri): the time until a changed
// config map is in the files of all of them, the memory of hundreds with probes and volumes, and
// the time to give a million files to a group. Needs no root. Usage: volume_bench [--rounds N]
// [--part config|group|memory]...

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "libs/fs/ownership.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/probe_target.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 300s;

/// With a volume on disk, one of a config map and one of the downward API; `more` holds fields of
/// its container.
std::string Manifest(const std::string& name, const std::string& more) {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata: {{name: {}}}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {{name: scratch, emptyDir: {{}}}}
  - {{name: settings, configMap: {{name: settings}}}}
  - {{name: self, downwardAPI: {{items: [{{path: name, fieldRef: {{fieldPath: metadata.name}}}}]}}}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [sleep, "1000"]
    volumeMounts:
    - {{name: scratch, mountPath: /scratch}}
    - {{name: settings, mountPath: /settings}}
    - {{name: self, mountPath: /self}}
{})",
                     name, more);
}

class Bench {
 public:
  Bench(FakeNode& fake, const std::string& objects) : fake_(fake), objects_(objects) {
    SetWord("first");
  }

  void Put(size_t pods, const std::string& more) {
    for (size_t i = 0; i < pods; ++i)
      fake_.node().PutManifest(fmt::format("pod-{}.yaml", i),
                               Manifest(fmt::format("pod-{}", i), more));
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake_.view().Running().size() == pods; }), "{}",
          fake_.node().LogTails());
    std::this_thread::sleep_for(5s);  // for the burst's own syncs
  }

  /// From the rename of the manifest in the folder of objects to the last updated file.
  void Config(size_t pods, int rounds) {
    Result changed{
        .name = fmt::format("volumes: config map changed to file changed in {} pods", pods),
        .unit = "ms"};
    changed.limit_p50 = 2000;
    const auto files = Files(pods);
    for (int i = 0; i < rounds; ++i) {
      const std::string word = fmt::format("word-{}", i);
      const auto began = fake_.view().clock().Now();
      SetWord(word);
      for (const auto& file : files)
        CHECK(WaitEvery(2ms, kLimit, [&] { return harness::ReadFile(file) == word; }), "{}: {}{}",
              file, harness::ReadFile(file), fake_.node().LogTails());
      changed.values.push_back(Ms((fake_.view().clock().Now() - began).count()));
      std::this_thread::sleep_for(1s);
    }
    Print(changed);
  }

  void Memory(size_t pods) {
    Result memory{
        .name = fmt::format("volumes: PSS of the six, {} pods with 2 probes and 3 volumes", pods),
        .unit = "MB"};
    memory.limit_p50 = 70;
    std::this_thread::sleep_for(30s);
    const auto all = fake_.node().Pods();
    const auto ready = std::ranges::count_if(all, [](const auto& pod) { return pod.ready; });
    CHECK(ready == static_cast<std::ptrdiff_t>(pods), "{} of {} pods are ready", ready, pods);
    memory.values = {Processes(fake_.node()).SixMb()};
    Print(memory);
  }

 private:
  void SetWord(const std::string& word) {
    harness::WriteFile(objects_ + "/.settings",
                       fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n"
                                   "data: {{word: {}}}\n",
                                   word));
    std::filesystem::rename(objects_ + "/.settings", objects_ + "/settings.yaml");
  }
  std::vector<std::string> Files(size_t pods) {
    std::vector<std::string> files;
    for (const auto& pod : fake_.node().Pods())
      files.push_back(
          fmt::format("{}/kubelet/pods/{}/volumes/kubernetes.io~configmap/settings/word",
                      fake_.node().dir(), pod.uid));
    CHECK(files.size() == pods);
    return files;
  }

  FakeNode& fake_;
  const std::string objects_;
};

/// Gives a thousand directories of a thousand files to a pod's group; measures time and memory.
void Group() {
  constexpr int kDirectories = 1000, kFiles = 1000;
  const harness::TempDir volume("gr");
  for (int i = 0; i < kDirectories; ++i) {
    const std::string dir = fmt::format("{}/{}", volume.path(), i);
    std::filesystem::create_directory(dir);
    for (int j = 0; j < kFiles; ++j) std::ofstream(fmt::format("{}/{}", dir, j));
  }
  const auto most_mb = [] {
    rusage used{};
    CHECK(::getrusage(RUSAGE_SELF, &used) == 0);
    return static_cast<double>(used.ru_maxrss) / 1024;
  };
  const double before_mb = most_mb();
  const RealClock clock;
  const auto began = clock.Now();
  const auto change = fs::RealOwnership().GiveToGroup(volume.path(), {.group = ::getgid()});
  Result took{.name = "volumes: a million files given to a group", .unit = "s"};
  took.values = {Ms((clock.Now() - began).count()) / 1000};
  took.limit_p50 = 30;  // after which a kubelet reports a slow operation
  CHECK(change.ok() && change->failed == 0 && change->entries >= 1'000'000, "{}", change.status());
  Print(took);
  Result memory{.name = "volumes: memory of giving a million files to a group", .unit = "MB"};
  memory.values = {most_mb() - before_mb};
  memory.limit_p50 = 8;
  Print(memory);
}

std::string ConfigOf(const std::string& objects) {
  return fmt::format("maxPods: 400\nsplitlet: {{objectsPath: {}}}\n", objects);
}

int Main(int rounds, const std::set<std::string>& parts) {
  const auto asked = [&](const char* part) { return parts.empty() || parts.contains(part); };
  if (asked("config")) {
    const harness::TempDir objects("ob");
    FakeNode fake(ConfigOf(objects.path()));
    Bench bench(fake, objects.path());
    bench.Put(100, "");
    bench.Config(100, rounds);
  }
  if (asked("group")) Group();
  if (asked("memory")) {
    const ProbeTarget target;
    const harness::TempDir objects("ob");
    FakeNode fake(ConfigOf(objects.path()));
    Bench bench(fake, objects.path());
    bench.Put(250, fmt::format("    readinessProbe: {{httpGet: {{host: 127.0.0.1, port: {0}}}}}\n"
                               "    livenessProbe: {{tcpSocket: {{host: 127.0.0.1, port: {0}}}}}\n",
                               target.port));
    bench.Memory(250);
  }
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("Pods with volumes");
  int rounds = 10;
  app.add_option("--rounds", rounds, "changes of the config map");
  std::set<std::string> parts;
  app.add_option("--part", parts, "config, group or memory; all without it")
      ->check(CLI::IsMember({"config", "group", "memory"}));
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main(rounds, parts);
}
