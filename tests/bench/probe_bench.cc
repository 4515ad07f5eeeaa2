// A thousand probes by HTTP a second: what they cost pod-worker, and how late they come to a server
// of this program. On a runtime that takes no time of its own (fake-cri); needs no root.
// Usage: probe_bench [--pods N] [--containers N] [--seconds N]

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/bench/fake_node.h"
#include "tests/bench/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 600s;

/// Answers one request after the other, and keeps when each path was asked for.
class Target {
 public:
  Target() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 4096) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Target() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  /// Of each path, when it was asked for since the last Take.
  std::map<std::string, std::vector<Clock::Time>> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }
  uint16_t port = 0;

 private:
  void Run() {
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char buffer[2048];
      const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
      const std::string_view request(buffer, n > 0 ? static_cast<size_t>(n) : 0);
      if (request.starts_with("GET ")) {
        const std::lock_guard lock(mutex_);
        asked_[std::string(request.substr(4, request.find(' ', 4) - 4))].push_back(clock_.Now());
      }
      static constexpr std::string_view kAnswer =
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
      ::send(connection, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
      ::close(connection);
    }
  }
  const RealClock clock_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::mutex mutex_;
  std::map<std::string, std::vector<Clock::Time>> asked_;
  std::thread thread_;
};

/// Readiness and liveness of each container once a second; without a target no probes.
std::string Manifest(const std::string& name, int containers, uint16_t port) {
  std::string yaml = fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  terminationGracePeriodSeconds: "
      "1\n  containers:\n",
      name);
  for (int i = 0; i < containers; ++i) {
    yaml += fmt::format(
        "  - name: c{}\n    image: splitlet.local/busybox:1\n    command: [sleep, \"1000\"]\n", i);
    if (port == 0) continue;
    for (const char* kind : {"readiness", "liveness"})
      yaml += fmt::format(
          "    {}Probe: {{httpGet: {{host: 127.0.0.1, port: {}, path: /{}/{}/{}}}, periodSeconds: "
          "1, timeoutSeconds: 5}}\n",
          kind, port, name, i, kind);
  }
  return yaml;
}

/// How far from a second each came after the one before.
std::vector<double> DistancesMs(const std::map<std::string, std::vector<Clock::Time>>& asked) {
  std::vector<double> distances;
  for (const auto& [path, times] : asked)
    for (size_t i = 1; i < times.size(); ++i) {
      const Duration step = times[i] - times[i - 1];
      distances.push_back(std::abs(Ms(step.count()) - 1000));
    }
  return distances;
}

int Main(int pods, int containers, int seconds) {
  const int probes = 2 * pods * containers;
  FakeNode fake(fmt::format("maxPods: {}\n", pods + 10));
  const Processes processes(fake.node());
  Target target;
  const auto run = [&](const std::string& prefix, uint16_t port) {
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      fake.node().PutManifest(name + ".yaml", Manifest(name, containers, port));
    }
    const auto wanted = static_cast<size_t>(pods * containers);
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake.view().Running().size() == wanted; }), "{}",
          fake.node().LogTails());
    std::this_thread::sleep_for(15s);
    target.Take();
    const double before = processes.CpuSecondsOf("pod-worker");
    std::this_thread::sleep_for(std::chrono::seconds{seconds});
    return (processes.CpuSecondsOf("pod-worker") - before) / seconds * 100;
  };
  const auto remove = [&](const std::string& prefix) {
    for (int i = 0; i < pods; ++i) fake.node().RemoveManifest(fmt::format("{}-{}.yaml", prefix, i));
    CHECK(WaitEvery(100ms, kLimit, [&] { return fake.view().Running().empty(); }));
  };
  const double idle = run("idle", 0);
  remove("idle");
  const double probed = run("probed", target.port);
  const auto asked = target.Take();
  size_t requests = 0;
  for (const auto& [path, times] : asked) requests += times.size();
  const auto show = [&](const char* what, const char* unit, std::vector<double> values) {
    Result result{.name = fmt::format("{} probes by HTTP a second: {}", probes, what),
                  .unit = unit};
    result.values = std::move(values);
    Print(result);
  };
  show("CPU of pod-worker without them", "% of a core", {idle});
  show("CPU of pod-worker", "% of a core", {probed});
  show("requests that came", "a second", {static_cast<double>(requests) / seconds});
  show("distance from the period", "ms", DistancesMs(asked));
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) {
  CLI::App app("Probes by HTTP");
  int pods = 50, containers = 10, seconds = 30;
  app.add_option("--pods", pods, "pods on the node");
  app.add_option("--containers", containers, "of each pod, with two probes each");
  app.add_option("--seconds", seconds, "how long is measured");
  CLI11_PARSE(app, argc, argv);
  return splitlet::bench::Main(pods, containers, seconds);
}
