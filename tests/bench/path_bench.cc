// Measures the time from a change of a manifest to the runtime: six processes on a runtime that
// takes no time (fake-cri), compared with an empty message over the same hops. Needs no root.
// Usage: path_bench [--rounds N] [--pods N]

#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <thread>

#include "libs/cri/grpc_runtime.h"
#include "tests/bench/fake_node.h"
#include "tests/bench/no_log.h"
#include "tests/bench/pod_way.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"
#include "tests/harness/bus_process.h"
#include "tests/harness/nats_server.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;
using harness::WaitFor;

/// The runtime records the times, so that few polls are needed.
constexpr Duration kLimit = 300s;

/// An empty message over the hops of a manifest: a rename that a watcher reports, a put that
/// reaches another process's view, and two calls on a unix socket.
class Hops {
 public:
  Hops(const std::string& dir, harness::RuntimeView& view)
      : dir_(dir), nats_(dir), view_(view), watch_(inotify_init1(IN_CLOEXEC)) {
    nats_.Start();
    CHECK(watch_ >= 0 && inotify_add_watch(watch_, dir_.c_str(), IN_MOVED_TO) >= 0);
    owner_ = std::make_unique<harness::BusProcess>(Wiring("pleg"), sink_);
    reader_ = std::make_unique<harness::BusProcess>(Wiring("status"), sink_);
    owner_->On([this] { table_ = *owner_->bus().OwnRaw("runtime"); });
    reader_->On([this] {
      seen_in_ = *reader_->bus().ViewRaw("runtime", "pleg");
      seen_in_->OnChange([this](const bus::RawView::Change&) { ++seen_; });
    });
    CHECK(WaitFor(60s, [this] {
      return reader_->Ask([this] { return seen_in_->state() == bus::ViewState::kLive; });
    }));
    Put();
  }
  ~Hops() {
    owner_->StopServing();
    reader_->StopServing();
    owner_->On([this] { table_ = nullptr; });
    reader_->On([this] { seen_in_ = nullptr; });
    close(watch_);
  }
  Hops(const Hops&) = delete;
  Hops& operator=(const Hops&) = delete;

  double OnceMs() {
    const auto began = view_.clock().Now();
    Rename();
    Put();
    for (int i = 0; i < 2; ++i)
      CHECK(view_.runtime().Version(After(view_.clock(), 10s)).ok(), "no answer");
    return Ms((view_.clock().Now() - began).count());
  }

 private:
  harness::BusWiring Wiring(const std::string& process) const {
    return {.process = process, .run_dir = dir_, .url = nats_.url(), .creds = "", .ca = nats_.ca()};
  }
  void Rename() {
    harness::WriteFile(dir_ + "/from", "");
    std::filesystem::rename(dir_ + "/from", dir_ + "/to");
    char event[4096];
    CHECK(read(watch_, event, sizeof(event)) > 0);
  }
  void Put() {
    const int before = seen_;
    owner_->loop().Post([this] { CHECK(table_->Put("key", std::to_string(++puts_), "").ok()); });
    while (seen_ == before) std::this_thread::sleep_for(50us);
  }

  const std::string dir_;
  NoLog sink_;
  harness::NatsServer nats_;
  harness::RuntimeView& view_;
  const int watch_;
  std::unique_ptr<harness::BusProcess> owner_, reader_;
  std::unique_ptr<bus::RawTable> table_;
  std::unique_ptr<bus::RawView> seen_in_;
  int puts_ = 0;
  std::atomic<int> seen_ = 0;
};

/// Two processes that poll without sleeping.
class Hogs {
 public:
  Hogs() {
    for (auto& pid : pids_)
      pid = harness::Spawn(
          {.argv = {"/bin/sh", "-c", "while :; do :; done"}, .env = {}, .output = "/dev/null"});
  }
  ~Hogs() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  Hogs(const Hogs&) = delete;
  Hogs& operator=(const Hogs&) = delete;

 private:
  std::array<pid_t, 2> pids_{};
};

class Bench {
 public:
  Bench(FakeNode& fake, Hops& hops, int rounds)
      : node_(fake.node()),
        view_(fake.view()),
        way_(fake.node(), fake.view()),
        hops_(hops),
        rounds_(rounds) {}

  void Quiet() {
    Result start{.name = "path: manifest renamed to RunPodSandbox called", .unit = "ms"};
    start.limit_p50 = 8;
    Result stop{.name = "path: manifest removed to StopContainer called", .unit = "ms"};
    stop.limit_p50 = 8;
    Measure("quiet", start, stop);
  }
  void Busy() {
    const Hogs hogs;
    Result start{.name = "path: the same beside two hogs, against an empty message", .unit = "ms"};
    start.ratio = 1.5;
    Result stop{.name = "path: a removal beside two hogs, against an empty message", .unit = "ms"};
    stop.ratio = 1.5;
    Measure("busy", start, stop);
  }
  /// The cost of a hook, whose command takes no time here: from the start of its container to the
  /// next one, and from the removal to the stop, each compared with the same without a hook.
  void Hooks() {
    Result post{.name = "hooks: container started to the next one made, with postStart",
                .unit = "ms"};
    post.overhead_p50 = 5;
    Result pre{.name = "hooks: manifest removed to StopContainer called, with preStop",
               .unit = "ms"};
    pre.overhead_p50 = 5;
    for (int i = 0; i < rounds_; ++i)
      for (const bool hooked : {true, false}) {
        const Hooked took = HookedMs(fmt::format("{}-{}", hooked ? "hooked" : "plain", i), hooked);
        (hooked ? post.values : post.floor).push_back(took.between);
        (hooked ? pre.values : pre.floor).push_back(took.stop);
      }
    Print(post);
    Print(pre);
  }
  /// At 5 pulls a second after the first 10, the kubelet's default.
  void Pulls(int pods) {
    Result pulls{.name = fmt::format("pulls: {} pods that always pull, at once, all running", pods),
                 .unit = "s"};
    pulls.limit_p50 = 30;
    const auto began = view_.clock().Now();
    for (int i = 0; i < pods; ++i) way_.Put(fmt::format("pull-{}", i), "imagePullPolicy: Always");
    CHECK(WaitEvery(200ms, kLimit,
                    [&] { return view_.Running().size() == static_cast<size_t>(pods); }));
    pulls.values = {Ms((view_.clock().Now() - began).count()) / 1000};
    Print(pulls);
  }
  void RemovePulls(int pods) {
    for (int i = 0; i < pods; ++i) way_.Remove(fmt::format("pull-{}", i));
    CHECK(WaitEvery(200ms, kLimit, [&] { return view_.Running().empty(); }));
  }

 private:
  struct Hooked {
    double between = 0, stop = 0;
  };
  Hooked HookedMs(const std::string& name, bool hooked) {
    node_.PutManifest(
        name + ".yaml",
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  containers:\n"
                    "  - name: first\n    image: busybox:1\n{}  - name: next\n    image: "
                    "busybox:1\n",
                    name,
                    hooked ? "    lifecycle: {postStart: {exec: {command: [\"true\"]}}, preStop: "
                             "{exec: {command: [\"true\"]}}}\n"
                           : ""));
    std::this_thread::sleep_for(100ms);
    CHECK(WaitEvery(100ms, kLimit, [&] { return view_.RunningOf(name).size() == 2; }));
    cri::Container first, next;
    for (const auto& container : view_.RunningOf(name)) {
      const auto status = view_.runtime().ContainerStatus(container.id, After(view_.clock(), 10s));
      CHECK(status.ok(), "{}", ToString(status.status()));
      (container.name == "first" ? first : next) = *status;
    }
    std::this_thread::sleep_for(300ms);
    const int64_t began = ToNanos(view_.clock().WallNow());
    node_.RemoveManifest(name + ".yaml");
    std::this_thread::sleep_for(100ms);
    CHECK(WaitEvery(100ms, kLimit, [&] { return view_.RunningOf(name).empty(); }));
    const auto ended = view_.runtime().ContainerStatus(first.id, After(view_.clock(), 10s));
    CHECK(ended.ok(), "{}", ToString(ended.status()));
    return {.between = Ms(next.created_at_ns - first.started_at_ns),
            .stop = Ms(ended->finished_at_ns - began)};
  }
  void Measure(const std::string& prefix, Result& start, Result& stop) {
    for (int i = 0; i < rounds_; ++i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      start.values.push_back(way_.StartMs(name));
      start.floor.push_back(hops_.OnceMs());
      std::this_thread::sleep_for(300ms);
      stop.values.push_back(way_.StopMs(name));
      stop.floor.push_back(hops_.OnceMs());
    }
    Print(start);
    Print(stop);
  }

  harness::Node& node_;
  harness::RuntimeView& view_;
  PodWay way_;
  Hops& hops_;
  const int rounds_;
};

int Main(int rounds, int pods) {
  FakeNode fake;  // with the defaults of the configuration, as users have them
  const harness::TempDir hop_dir("ph");
  Hops hops(hop_dir.path(), fake.view());
  Bench bench(fake, hops, rounds);
  Processes seven(fake.node());
  seven.ShowIdle(0);
  bench.Quiet();
  bench.Hooks();
  bench.Busy();
  bench.Pulls(pods);
  seven.ShowIdle(pods);
  bench.RemovePulls(pods);
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("The way of a change from the manifest to the runtime");
  int rounds = 20;
  int pods = 100;
  app.add_option("--rounds", rounds, "pods that come and go one after the other");
  app.add_option("--pods", pods, "pods that come at once");
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main(rounds, pods);
}
