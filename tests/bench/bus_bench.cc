// How fast a change reaches the views, over a real nats-server and real sockets. All six loops are
// threads of this program. Usage: bus_bench [--seconds=5] [--rate=10000] [--readers=5]

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
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/bus/nats_bus.h"
#include "libs/exec/loop_thread.h"
#include "libs/rpc/rpc.h"
#include "tests/bench/result.h"

extern char** environ;

namespace splitlet::bench {
namespace {

using namespace bus;

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
    log_ = dir + "/nats.log";
    Start();
  }
  ~NatsServer() { Kill(); }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;
  void Start() {
    std::vector<std::string> arguments = {"nats-server", "-a", "127.0.0.1", "-p",
                                          port_,         "-l", log_};
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    CHECK(posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) == 0);
  }
  void Kill() const {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void Signal(int signal) const { kill(pid_, signal); }
  std::string url() const { return "nats://127.0.0.1:" + port_; }

 private:
  std::string port_, log_;
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
    put_took_.push_back(static_cast<double>(clock_.Now().monotonic.count() - last_put_) / 1e6);
  }
  void OnChange(const RawView::Change& change) {
    if (change.after == nullptr) return;
    const int64_t sent = std::stoll(*change.after);
    const std::lock_guard lock(mutex_);
    latencies_.push_back(static_cast<double>(clock_.Now().monotonic.count() - sent) / 1e6);
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
  bool Connected() {
    bool connected = false;
    On([&] { connected = bus_->connected(); });
    return connected;
  }
  bool Live() {
    bool live = false;
    On([&] { live = view_->state() == ViewState::kLive; });
    return live;
  }
  /// How many keys of the owner's table are not the same here.
  size_t Differences(Process& owner) {
    std::map<std::string, std::string> wanted;
    owner.On([&] {
      for (const auto& key : owner.table_->Keys()) wanted[key] = *owner.table_->Get(key);
    });
    size_t differences = 0;
    On([&] {
      for (const auto& [key, record] : wanted) {
        const auto found = view_->Find(key);
        if (found == nullptr || *found != record) ++differences;
      }
    });
    return differences;
  }
  /// Milliseconds on the owner's loop, of each Put since the last call. The loop is idle.
  std::vector<double> TakePutTimes() { return std::exchange(put_took_, {}); }
  exec::LoopThread& loop() { return loop_; }
  const Clock& clock() const { return clock_; }
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
  std::vector<double> latencies_;  // milliseconds
  std::vector<double> put_took_;   // milliseconds
  int64_t newest_ = 0;
  std::atomic<int64_t> last_put_ = 0;
  std::thread thread_;
};

/// VmRSS or VmHWM of this program.
double MemoryMb(const std::string& what) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kb = 0;
  while (status >> word)
    if (word == what + ":") status >> kb;
  return kb / 1024;
}

struct Bench {
  std::string dir;
  NatsServer nats{dir};
  Process owner{"pleg", dir, nats.url()};
  std::vector<std::unique_ptr<Process>> readers;

  void WaitConnected() {
    while (!owner.Connected()) Pause();
    for (auto& reader : readers)
      while (!reader->Connected() || !reader->Live()) Pause();
  }

  std::vector<double> OneByOne(int count) {
    auto& reader = *readers[0];
    reader.TakeLatencies();
    for (int i = 0; i < count; ++i) {
      const size_t before = reader.Seen();
      owner.On([&] { owner.Put(i % kKeys); });
      while (reader.Seen() == before) Pause();
    }
    return reader.TakeLatencies();
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

  void Throughput(int rate, int seconds) {
    const std::string name =
        fmt::format("bus: {} changes/s of 4 KB to {} readers", rate, readers.size());
    for (auto& reader : readers) reader->TakeLatencies();
    owner.TakePutTimes();
    const double memory_before = MemoryMb("VmRSS");
    std::promise<void> done;
    Stream(rate, std::chrono::seconds{seconds}, done);
    done.get_future().wait();
    for (auto& reader : readers) {
      while (reader->Newest() < owner.last_put()) Pause();
    }
    Result seen{.name = name + ": put to view", .unit = "ms"};
    Result put{.name = name + ": time the owner spends on a put", .unit = "ms"};
    Result differing{.name = name + ": last values that did not arrive", .unit = "values"};
    Result memory{.name = name + ": growth of memory", .unit = "MB"};
    differing.limit_p50 = 0;
    put.values = owner.TakePutTimes();
    memory.values = {MemoryMb("VmHWM") - memory_before};
    size_t differences = 0;
    for (auto& reader : readers) {
      const auto latencies = reader->TakeLatencies();
      seen.values.insert(seen.values.end(), latencies.begin(), latencies.end());
      differences += reader->Differences(owner);
    }
    differing.values = {static_cast<double>(differences)};
    TellCounters(put.values.size(), seen.values.size());
    for (const auto* result : {&seen, &put, &differing, &memory}) Print(*result);
  }

  void TellCounters(size_t puts, size_t seen) {
    double gaps = 0;
    double lists = 0;
    double overflows = 0;
    for (auto& reader : readers) {
      gaps += reader->Metric("splitlet_bus_gaps_total");
      lists += reader->Metric("splitlet_bus_lists_total");
      overflows += reader->Metric("splitlet_bus_overflows_total");
    }
    fmt::print(stderr, "puts {}, changes seen {}, not sent {}, gaps {}, overflows {}, lists {}\n",
               puts, seen, owner.Metric("splitlet_bus_publish_dropped_total"), gaps, overflows,
               lists);
  }

  /// A message is lost; `followed`: another one comes at once, else only the beat tells.
  std::vector<double> GapRepair(int count, bool followed) {
    auto& reader = *readers[0];
    std::vector<double> repaired;
    for (int i = 0; i < count; ++i) {
      const int64_t before = reader.Newest();
      reader.TakeLatencies();
      owner.On([&] {
        CHECK(FailPoints::Current().Set("bus.publish.before", "1*drop").ok());
        owner.Put(i % kKeys);
        FailPoints::Current().Clear("bus.publish.before");
        if (followed) owner.Put((i + 1) % kKeys);
      });
      while (reader.Newest() < owner.last_put() || reader.Differences(owner) != 0) Pause();
      CHECK(reader.Newest() > before);
      const auto latencies = reader.TakeLatencies();
      repaired.push_back(*std::ranges::max_element(latencies));
    }
    return repaired;
  }

  std::vector<double> WhileStopped(int count) {
    std::vector<double> seen;
    for (int i = 0; i < count; ++i) {
      nats.Signal(SIGSTOP);
      seen.push_back(OneByOne(1).at(0));
      nats.Signal(SIGCONT);
      WaitConnected();
    }
    return seen;
  }

  std::vector<double> WhileGone(int count) {
    std::vector<double> seen;
    for (int i = 0; i < count; ++i) {
      nats.Kill();
      while (readers[0]->Connected()) Pause();
      seen.push_back(OneByOne(1).at(0));
      nats.Start();
      WaitConnected();
    }
    return seen;
  }
};

void Show(const std::string& name, std::vector<double> values, double p50, double p99) {
  Result result{.name = name, .unit = "ms", .values = std::move(values)};
  result.limit_p50 = p50;
  result.limit_p99 = p99;
  Print(result);
}

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
    bench.WaitConnected();
    Show("bus: put to view in another process", bench.OneByOne(1000), 0.3, 2);
    bench.Throughput(Option(argc, argv, "rate", 10'000), Option(argc, argv, "seconds", 5));
    Show("bus: a lost change and the next one, to the repaired view", bench.GapRepair(100, true),
         -1, 50);
    Show("bus: a lost last change, to the repaired view", bench.GapRepair(10, false), -1, 1050);
    Show("bus: a change while nats-server is stopped", bench.WhileStopped(5), -1, 2100);
    Show("bus: a change while nats-server is gone", bench.WhileGone(5), -1, 600);
  }
  std::filesystem::remove_all(dir);
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) { return splitlet::bench::Main(argc, argv); }
