// Measures how fast a change reaches the views, over a real nats-server and real sockets, with TLS
// and without it in the same run. All six loops are threads of this program; the memory measurement
// uses separate processes. Usage: bus_bench [--seconds=5] [--rate=10000] [--readers=5]

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

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
#include "tests/bench/no_log.h"
#include "tests/bench/result.h"
#include "tests/harness/bus_process.h"
#include "tests/harness/child.h"
#include "tests/harness/nats_server.h"

namespace splitlet::bench {
namespace {

using namespace bus;

constexpr size_t kRecordBytes = 4096;  // a pod of medium size
constexpr int kKeys = 110;

void Pause() { poll(nullptr, 0, 1); }

/// A process with one table, as owner or reader, and its measurements.
class Process {
 public:
  Process(const std::string& name, const std::string& dir, const std::string& url,
          const std::string& ca)
      : process_({.process = name, .run_dir = dir, .url = url, .creds = "", .ca = ca}, sink_) {}
  ~Process() {
    process_.StopServing();
    On([this] {
      view_ = nullptr;
      table_ = nullptr;
    });
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void On(const std::function<void()>& f) { process_.On(f); }
  bool Connected() { return process_.Connected(); }
  double Metric(const std::string& name) const { return process_.Metric(name); }
  void Own() {
    On([this] { table_ = *process_.bus().OwnRaw("runtime"); });
  }
  void View() {
    On([this] {
      view_ = *process_.bus().ViewRaw("runtime", "pleg");
      view_->OnChange([this](const RawView::Change& change) { OnChange(change); });
    });
  }
  /// The record begins with its time.
  void Put(int key) {
    last_put_ = clock().Now().monotonic.count();
    std::string record = std::to_string(last_put_.load());
    record.resize(kRecordBytes, ' ');
    CHECK(table_->Put(std::to_string(key), std::move(record), "").ok());
    put_took_.push_back(static_cast<double>(clock().Now().monotonic.count() - last_put_) / 1e6);
  }
  void OnChange(const RawView::Change& change) {
    if (change.after == nullptr) return;
    const int64_t sent = std::stoll(*change.after);
    const std::lock_guard lock(mutex_);
    latencies_.push_back(static_cast<double>(clock().Now().monotonic.count() - sent) / 1e6);
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
  bool Live() {
    return process_.Ask([this] { return view_->state() == ViewState::kLive; });
  }
  /// Number of the owner's keys that differ here.
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
  /// Duration in ms, on the owner's idle loop, of each Put since the last call.
  std::vector<double> TakePutTimes() { return std::exchange(put_took_, {}); }
  exec::LoopThread& loop() { return process_.loop(); }
  const Clock& clock() const { return process_.clock(); }
  int64_t last_put() const { return last_put_; }

 private:
  NoLog sink_;
  harness::BusProcess process_;
  std::unique_ptr<RawTable> table_;
  std::unique_ptr<RawView> view_;
  std::mutex mutex_;
  std::vector<double> latencies_;  // milliseconds
  std::vector<double> put_took_;   // milliseconds
  int64_t newest_ = 0;
  std::atomic<int64_t> last_put_ = 0;
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
  Bench(const std::string& directory, harness::NatsTls tls, int reader_count)
      : dir(directory), nats(dir, {}, tls) {
    nats.Start();
    owner.Own();
    for (int i = 0; i < reader_count; ++i) {
      readers.push_back(
          std::make_unique<Process>("reader" + std::to_string(i), dir, nats.url(), nats.ca()));
      readers.back()->View();
    }
    WaitConnected();
  }
  const std::string dir;
  harness::NatsServer nats;
  Process owner{"pleg", dir, nats.url(), nats.ca()};
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

  /// Puts every millisecond, by a timer on the owner's loop.
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

  /// The time from Put to view, for comparison.
  std::vector<double> Throughput(int rate, int seconds) {
    const std::string name = fmt::format("bus: {} changes/s of 4 KB to {} readers{}", rate,
                                         readers.size(), nats.ca().empty() ? ", without TLS" : "");
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
    return seen.values;
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

  /// Loses a message. `followed`: another message follows immediately; otherwise only the heartbeat
  /// reveals the loss.
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
      nats.Kill(SIGKILL);
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

void ShowCost(const std::string& what, const std::string& unit, std::vector<double> plain,
              std::vector<double> tls) {
  Result result{.name = "bus: TLS against plain: " + what,
                .unit = unit,
                .values = std::move(tls),
                .floor = std::move(plain)};
  result.ratio = 1.1;
  Print(result);
}

std::string Text(int argc, char** argv, const std::string& name) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--" + name + "=")) return argument.substr(name.size() + 3);
  }
  return "";
}

int Option(int argc, char** argv, const std::string& name, int value) {
  const std::string text = Text(argc, argv, name);
  return text.empty() ? value : std::stoi(text);
}

/// Runs as one of six separate processes: connected, with a table or a view of it, until killed.
int Idle(int argc, char** argv, const std::string& name) {
  const std::string dir = Text(argc, argv, "dir");
  Process process(name, dir, Text(argc, argv, "url"), Text(argc, argv, "ca"));
  if (name == "pleg") {
    process.Own();
    process.On([&] {
      for (int i = 0; i < kKeys; ++i) process.Put(i);
    });
  } else {
    process.View();
  }
  while (!process.Connected()) Pause();
  while (name != "pleg" && (!process.Live() || process.Seen() < kKeys)) Pause();
  harness::WriteFile(dir + "/idle-" + name, "yes");
  while (true) Pause();
}

double PssMb(pid_t pid) {
  std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", pid));
  std::string word;
  double kb = 0;
  while (rollup >> word)
    if (word == "Pss:" && rollup >> kb) return kb / 1024;
  return 0;
}

/// Memory of six processes with only the bus, and of the server.
double MemoryOfSeven(harness::NatsTls tls) {
  const harness::TempDir dir("bench");
  harness::NatsServer nats(dir.path(), {}, tls);
  nats.Start();
  std::vector<pid_t> children;
  const std::vector<std::string> names = {"pleg", "r0", "r1", "r2", "r3", "r4"};
  // By its path, because a process that starts a child is briefly another program.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const std::string& name : names)
    children.push_back(harness::Spawn({.argv = {self, "--idle=" + name, "--dir=" + dir.path(),
                                                "--url=" + nats.url(), "--ca=" + nats.ca()},
                                       .env = {},
                                       .output = dir / (name + ".log")}));
  for (const std::string& name : names)
    CHECK(
        harness::WaitFor(60s, [&] { return !harness::ReadFile(dir / ("idle-" + name)).empty(); }));
  double sum = PssMb(nats.pid());
  for (const pid_t child : children) sum += PssMb(child);
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return sum;
}

int Main(int argc, char** argv) {
  if (const std::string name = Text(argc, argv, "idle"); !name.empty())
    return Idle(argc, argv, name);
  const int readers = Option(argc, argv, "readers", 5);
  const int rate = Option(argc, argv, "rate", 10'000);
  const int seconds = Option(argc, argv, "seconds", 5);
  const double plain_memory = MemoryOfSeven(harness::NatsTls::kOff);
  const double tls_memory = MemoryOfSeven(harness::NatsTls::kOn);
  const harness::TempDir plain_dir("bench"), dir("bench");
  std::vector<double> plain_seen, plain_streamed;
  {
    Bench plain(plain_dir.path(), harness::NatsTls::kOff, readers);
    plain_seen = plain.OneByOne(1000);
    plain_streamed = plain.Throughput(rate, seconds);
  }
  Bench bench(dir.path(), harness::NatsTls::kOn, readers);
  const auto seen = bench.OneByOne(1000);
  Show("bus: put to view in another process", seen, 0.3, 2);
  const auto streamed = bench.Throughput(rate, seconds);
  ShowCost("put to view", "ms", plain_seen, seen);
  ShowCost(fmt::format("put to view at {} changes/s", rate), "ms", plain_streamed, streamed);
  ShowCost("memory of six processes and the server (PSS)", "MB", {plain_memory}, {tls_memory});
  Show("bus: a lost change and the next one, to the repaired view", bench.GapRepair(100, true), -1,
       50);
  Show("bus: a lost last change, to the repaired view", bench.GapRepair(10, false), -1, 1050);
  Show("bus: a change while nats-server is stopped", bench.WhileStopped(5), -1, 2100);
  Show("bus: a change while nats-server is gone", bench.WhileGone(5), -1, 600);
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main(int argc, char** argv) { return splitlet::bench::Main(argc, argv); }
