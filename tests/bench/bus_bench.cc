// How fast a change reaches the views, over a real nats-server and real sockets. Prints one JSON
// object.
//
//   bus_bench [--seconds=5] [--rate=10000] [--readers=5]
//
// latency:    one change at a time, from Put to the reader's OnChange
// throughput: `rate` changes a second to `readers` readers; the same time, and what was lost on the
// way and repaired gap_repair: a lost message followed by another one, until the lost value is seen
// last_lost:  a lost message followed by nothing: the next beat shows it
// polling:    the same as latency while nats-server stands still

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <prometheus/registry.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/bus/nats_bus.h"
#include "libs/exec/loop_thread.h"
#include "libs/rpc/rpc.h"

extern char** environ;

namespace splitlet::bus {
namespace {

constexpr size_t kRecordBytes = 4096;  // a pod of middling size
constexpr int kKeys = 110;

class NoLog final : public LogSink {
 public:
  bool Enabled(LogLevel) const override { return false; }
  void Write(LogLevel, std::string_view, const std::vector<LogField>&) override {}
};

void Pause() { poll(nullptr, 0, 1); }

class NatsServer {
 public:
  explicit NatsServer(const std::string& dir) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    close(fd);
    port_ = std::to_string(ntohs(address.sin_port));
    std::vector<std::string> arguments = {"nats-server", "-a", "127.0.0.1",      "-p",
                                          port_,         "-l", dir + "/nats.log"};
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    CHECK(posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) == 0);
  }
  ~NatsServer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;
  void Signal(int signal) const { kill(pid_, signal); }
  std::string url() const { return "nats://127.0.0.1:" + port_; }

 private:
  std::string port_;
  pid_t pid_ = 0;
};

/// A process's loop, bus and socket on a thread of this one.
class Process {
 public:
  Process(const std::string& name, const std::string& dir, const std::string& url)
      : thread_([this] { loop_.Run(); }) {
    On([&] {
      bus_ = *ConnectBus({.process = name,
                          .node_name = "bench",
                          .run_dir = dir,
                          .nats_url = url,
                          .nats_creds = "",
                          .loop = loop_,
                          .clock = clock_,
                          .metrics = registry_,
                          .log = Log(sink_)});
    });
    server_ = *rpc::StartServer(
        {.socket_path = rpc::SocketPath(dir, name), .services = {&bus_->TablesService()}},
        Log(sink_));
  }
  ~Process() {
    server_ = nullptr;
    On([this] {
      view_ = nullptr;
      table_ = nullptr;
      bus_ = nullptr;
    });
    loop_.Stop();
    thread_.join();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void On(const std::function<void()>& f) {
    std::promise<void> done;
    loop_.Post([&] {
      f();
      done.set_value();
    });
    done.get_future().wait();
  }
  void Own() {
    On([this] { table_ = *bus_->OwnRaw("runtime"); });
  }
  void View() {
    On([this] {
      view_ = *bus_->ViewRaw("runtime", "pleg");
      view_->OnChange([this](const RawView::Change& change) { OnChange(change); });
    });
  }
  /// The record begins with its time.
  void Put(int key) {
    last_put_ = clock_.Now().monotonic.count();
    std::string record = std::to_string(last_put_.load());
    record.resize(kRecordBytes, ' ');
    CHECK(table_->Put(std::to_string(key), std::move(record), "").ok());
    ++puts_;
  }
  void OnChange(const RawView::Change& change) {
    if (change.after == nullptr) return;
    const int64_t sent = std::stoll(*change.after);
    const std::lock_guard lock(mutex_);
    latencies_.push_back(static_cast<double>(clock_.Now().monotonic.count() - sent) / 1000);
    newest_ = std::max(newest_, sent);
  }
  std::vector<double> TakeLatencies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(latencies_, {});
  }
  size_t Seen() {
    const std::lock_guard lock(mutex_);
    return latencies_.size();
  }
  int64_t Newest() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  double Metric(const std::string& name) {
    double sum = 0;
    for (const auto& family : registry_.Collect()) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) sum += metric.counter.value;
    }
    return sum;
  }
  void WaitConnected() {
    bool connected = false;
    while (!connected) {
      On([&] {
        connected = bus_->connected() && (view_ == nullptr || view_->state() == ViewState::kLive);
      });
      Pause();
    }
  }
  exec::LoopThread& loop() { return loop_; }
  const Clock& clock() const { return clock_; }
  uint64_t puts() const { return puts_; }
  int64_t last_put() const { return last_put_; }

 private:
  RealClock clock_;
  NoLog sink_;
  prometheus::Registry registry_;
  exec::LoopThread loop_{clock_};
  std::unique_ptr<NatsBus> bus_;
  std::unique_ptr<RawTable> table_;
  std::unique_ptr<RawView> view_;
  std::unique_ptr<rpc::Server> server_;
  std::mutex mutex_;
  std::vector<double> latencies_;  // microseconds
  int64_t newest_ = 0;
  std::atomic<uint64_t> puts_ = 0;
  std::atomic<int64_t> last_put_ = 0;
  std::thread thread_;
};

std::string Quantiles(std::vector<double> values) {
  if (values.empty()) return "null";
  std::ranges::sort(values);
  const auto at = [&](double q) {
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
  };
  return fmt::format(R"({{"count": {}, "p50_us": {:.0f}, "p99_us": {:.0f}, "max_us": {:.0f}}})",
                     values.size(), at(0.5), at(0.99), values.back());
}

struct Bench {
  std::string dir;
  NatsServer nats{dir};
  Process owner{"pleg", dir, nats.url()};
  std::vector<std::unique_ptr<Process>> readers;

  std::string OneByOne(int count) {
    auto& reader = *readers[0];
    reader.TakeLatencies();
    for (int i = 0; i < count; ++i) {
      const size_t before = reader.Seen();
      owner.On([&] { owner.Put(i % kKeys); });
      while (reader.Seen() == before) Pause();
    }
    return Quantiles(reader.TakeLatencies());
  }

  /// A timer each millisecond on the owner's loop.
  void Stream(int rate, Duration length, std::promise<void>& done) {
    const auto end = owner.clock().Now() + length;
    struct Pace {
      std::function<void()> tick;
      Clock::Time begin;
      int64_t sent = 0;
    };
    const auto pace = std::make_shared<Pace>();
    pace->begin = owner.clock().Now();
    pace->tick = [this, rate, end, pace, &done] {
      const auto now = owner.clock().Now();
      const int64_t due = (now - pace->begin).count() * rate / 1'000'000'000;
      for (; pace->sent < due; ++pace->sent) owner.Put(static_cast<int>(pace->sent % kKeys));
      if (now < end) {
        owner.loop().RunAfter(Duration{1'000'000}, pace->tick);
        return;
      }
      pace->tick = nullptr;
      done.set_value();
    };
    owner.loop().Post(pace->tick);
  }

  std::string Throughput(int rate, int seconds) {
    for (auto& reader : readers) reader->TakeLatencies();
    const uint64_t puts_before = owner.puts();
    std::promise<void> done;
    Stream(rate, std::chrono::seconds{seconds}, done);
    done.get_future().wait();
    for (auto& reader : readers) {
      while (reader->Newest() < owner.last_put()) Pause();
    }
    std::vector<double> all;
    double gaps = 0, lists = 0, overflows = 0;
    for (auto& reader : readers) {
      const auto latencies = reader->TakeLatencies();
      all.insert(all.end(), latencies.begin(), latencies.end());
      gaps += reader->Metric("splitlet_bus_gaps_total");
      lists += reader->Metric("splitlet_bus_lists_total");
      overflows += reader->Metric("splitlet_bus_overflows_total");
    }
    return fmt::format(
        R"({{"rate": {}, "readers": {}, "puts": {}, "not_sent": {}, "gaps": {}, "overflows": {}, "lists": {}, "seen": {}}})",
        rate, readers.size(), owner.puts() - puts_before,
        owner.Metric("splitlet_bus_publish_dropped_total"), gaps, overflows, lists,
        Quantiles(std::move(all)));
  }

  std::string GapRepair(int count, bool followed) {
    auto& reader = *readers[0];
    std::vector<double> repaired;
    for (int i = 0; i < count; ++i) {
      const int64_t before = reader.Newest();
      owner.On([&] {
        CHECK(FailPoints::Current().Set("bus.publish.before", "1*drop").ok());
        owner.Put(i % kKeys);
        FailPoints::Current().Clear("bus.publish.before");
        if (followed) owner.Put((i + 1) % kKeys);
      });
      while (reader.Newest() <= before) Pause();
      const auto latencies = reader.TakeLatencies();
      if (!latencies.empty()) repaired.push_back(latencies.front());
    }
    return Quantiles(std::move(repaired));
  }

  std::string Polling(int count) {
    nats.Signal(SIGSTOP);
    const std::string result = OneByOne(count);
    nats.Signal(SIGCONT);
    return result;
  }
};

int Option(int argc, char** argv, const std::string& name, int value) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--" + name + "="))
      value = std::stoi(argument.substr(name.size() + 3));
  }
  return value;
}

int Main(int argc, char** argv) {
  char name[] = "/tmp/splitlet-bench-XXXXXX";
  CHECK(mkdtemp(name) != nullptr);
  const std::string dir = name;
  {
    Bench bench{.dir = dir};
    bench.owner.Own();
    for (int i = 0; i < Option(argc, argv, "readers", 5); ++i) {
      bench.readers.push_back(
          std::make_unique<Process>("reader" + std::to_string(i), dir, bench.nats.url()));
      bench.readers.back()->View();
    }
    bench.owner.WaitConnected();
    for (auto& reader : bench.readers) reader->WaitConnected();
    const std::string latency = bench.OneByOne(1000);
    const std::string stream =
        bench.Throughput(Option(argc, argv, "rate", 10'000), Option(argc, argv, "seconds", 5));
    const std::string gap = bench.GapRepair(100, true);
    const std::string last_lost = bench.GapRepair(10, false);
    const std::string polling = bench.Polling(10);
    fmt::print(
        "{{\"latency\": {},\n \"throughput\": {},\n \"gap_repair\": {},\n \"last_lost\": {},\n "
        "\"polling\": {}}}\n",
        latency, stream, gap, last_lost, polling);
  }
  std::filesystem::remove_all(dir);
  return 0;
}

}  // namespace
}  // namespace splitlet::bus

int main(int argc, char** argv) { return splitlet::bus::Main(argc, argv); }
