#include "libs/bus/nats_bus.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "libs/base/mutate.h"
#include "libs/bus/typed.h"
#include "libs/bus/view_core.h"
#include "libs/bus/wire.h"
#include "libs/exec/loop_thread.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.grpc.pb.h"

extern char** environ;

namespace splitlet::bus {
namespace {

using v1::RuntimeRecord;
constexpr const char* kChildVariable = "SPLITLET_BUS_TEST_CHILD";

/// Looks until `condition` holds; false after half a minute.
bool Eventually(const std::function<bool()>& condition) {
  RealClock clock;
  const auto end = clock.Now() + 30s;
  while (!condition()) {
    if (clock.Now() > end) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/splitlet-bus-XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

pid_t Spawn(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  CHECK(posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

/// A nats-server with a user for pleg (owner of `runtime`), status (its reader) and mute (may
/// publish nothing).
class NatsServer {
 public:
  explicit NatsServer(const std::string& dir) : dir_(dir), port_(FreePort()) {
    std::ofstream(dir_ + "/nats.conf")
        << "listen: \"127.0.0.1:" << port_ << "\"\n"
        << "jetstream { store_dir: \"" << dir_ << "/store\" }\n"
        << "authorization { users: [\n"
        << User("pleg", R"("splitlet.*.runtime","splitlet.*.pleg.>")", "")
        << User("status", "", R"("splitlet.*.runtime","splitlet.*.pleg.>",)")
        << User("mute", R"("nothing")", "") << "] }\n";
    for (const char* user : {"pleg", "status", "mute"})
      std::ofstream(Creds(user)) << user << "\npw\n";
  }
  ~NatsServer() { Kill(SIGKILL); }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  void Start() { pid_ = Spawn({"nats-server", "--config", dir_ + "/nats.conf"}); }
  void Signal(int signal) const { CHECK(kill(pid_, signal) == 0); }
  void Kill(int signal) {
    if (pid_ == 0) return;
    Signal(signal);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  void WipeStore() const { std::filesystem::remove_all(dir_ + "/store"); }
  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  std::string Creds(const std::string& user) const { return dir_ + "/creds-" + user; }

 private:
  static std::string User(const std::string& name, const std::string& publish,
                          const std::string& subscribe) {
    return "{user: \"" + name + "\", password: \"pw\", permissions: {publish: [" + publish +
           "], subscribe: [" + subscribe + "\"_INBOX." + name + ".>\"]}}\n";
  }
  const std::string dir_;
  const int port_;
  pid_t pid_ = 0;
};

struct Wiring {
  std::string process;
  std::string run_dir;
  std::string url;
  std::string creds;
};

/// A process's loop, bus and socket. What the test does with them runs on the loop by On().
class Process {
 public:
  explicit Process(const Wiring& wiring) : thread_([this] { loop_.Run(); }) {
    On([&] {
      auto made = ConnectBus({.process = wiring.process,
                              .node_name = "node",
                              .run_dir = wiring.run_dir,
                              .nats_url = wiring.url,
                              .nats_creds = wiring.creds,
                              .loop = loop_,
                              .clock = clock_,
                              .metrics = registry_,
                              .log = Log(sink_)});
      CHECK(made.ok(), "{}", ToString(made.status()));
      bus_ = *std::move(made);
    });
    auto server = rpc::StartServer({.socket_path = rpc::SocketPath(wiring.run_dir, wiring.process),
                                    .services = {&bus_->TablesService()}},
                                   Log(sink_));
    CHECK(server.ok(), "{}", ToString(server.status()));
    server_ = *std::move(server);
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
    CHECK(done.get_future().wait_for(60s) == std::future_status::ready, "the loop hangs");
  }
  void Own() {
    On([this] {
      table_ = std::make_unique<Table<RuntimeRecord>>(*bus::Own<RuntimeRecord>(*bus_, "runtime"));
    });
  }
  void View() {
    On([this] {
      view_ = std::make_unique<bus::View<RuntimeRecord>>(*ViewOf<RuntimeRecord>(*bus_, "runtime"));
    });
  }
  void Put(const std::string& key, const std::string& name) {
    On([&] {
      RuntimeRecord record;
      record.mutable_pod()->set_name(name);
      ASSERT_TRUE(table_->Put(key, record).ok());
    });
  }
  void Complete() {
    On([this] {
      Completeness complete;
      complete.scopes.insert(std::string(kAll));
      table_->SetComplete(complete);
    });
  }
  std::string Name(const std::string& key) {
    std::string name = "absent";
    On([&] {
      if (const auto record = view_->Find(key)) name = record->pod().name();
    });
    return name;
  }
  bool Sees(const std::string& key, const std::string& name) {
    return Eventually([&] { return Name(key) == name; });
  }
  bool Ask(const std::function<bool()>& f) {
    bool answer = false;
    On([&] { answer = f(); });
    return answer;
  }
  bool Connected() {
    return Eventually([this] { return Ask([this] { return bus_->connected(); }); });
  }
  bool Disconnected() {
    return Eventually([this] { return Ask([this] { return !bus_->connected(); }); });
  }
  bool LiveAndComplete() {
    return Eventually([this] { return Ask([this] { return view_->LiveAndComplete(); }); });
  }
  /// Of all labels together; brought up to date each second.
  double Metric(const std::string& name) {
    double sum = 0;
    for (const auto& family : registry_.Collect()) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) sum += metric.counter.value;
    }
    return sum;
  }
  bool Logged(LogLevel level, const std::string& message) const {
    for (const auto& line : sink_.lines()) {
      if (line.level == level && line.message == message) return true;
    }
    return false;
  }
  Bus& bus() { return *bus_; }
  Table<RuntimeRecord>& table() { return *table_; }
  bus::View<RuntimeRecord>& view() { return *view_; }
  exec::LoopThread& loop() { return loop_; }

 private:
  RealClock clock_;
  FakeLogSink sink_;
  prometheus::Registry registry_;
  exec::LoopThread loop_{clock_};
  std::unique_ptr<NatsBus> bus_;
  std::unique_ptr<Table<RuntimeRecord>> table_;
  std::unique_ptr<bus::View<RuntimeRecord>> view_;
  std::unique_ptr<rpc::Server> server_;
  std::thread thread_;
};

class NatsBusTest : public ::testing::Test {
 protected:
  Wiring For(const std::string& process, const std::string& user) const {
    return {process, dir_.path(), nats_.url(), nats_.Creds(user)};
  }
  void StartOwner() {
    owner_ = std::make_unique<Process>(For("pleg", "pleg"));
    owner_->Own();
  }
  void StartReader() {
    reader_ = std::make_unique<Process>(For("status", "status"));
    reader_->View();
  }
  void StartAll() {
    nats_.Start();
    StartOwner();
    StartReader();
    ASSERT_TRUE(owner_->Connected());
    ASSERT_TRUE(reader_->Connected());
  }
  TempDir dir_;
  NatsServer nats_{dir_.path()};
  std::unique_ptr<Process> owner_, reader_;
};

TEST_F(NatsBusTest, ChangesBeatsAndSignalsArrive) {
  StartAll();
  std::atomic<int> heard = 0;
  reader_->On([&] {
    reader_->bus().OnSignal("pleg", "pod-changed",
                            [&](const std::string& payload) { heard += payload == "uid" ? 1 : 0; });
  });
  owner_->Put("a", "x");
  owner_->Complete();
  EXPECT_TRUE(reader_->Sees("a", "x"));
  EXPECT_TRUE(reader_->LiveAndComplete());
  owner_->On([&] { owner_->table().Remove("a"); });
  EXPECT_TRUE(reader_->Sees("a", "absent"));
  // One may be lost while the subscription is on its way.
  EXPECT_TRUE(Eventually([&] {
    owner_->On([&] { owner_->bus().Signal("pod-changed", "uid"); });
    return heard > 0;
  }));
  EXPECT_TRUE(Eventually([&] { return reader_->Metric("splitlet_bus_changes_total") >= 1; }));
}

TEST_F(NatsBusTest, AServerThatIsKilledIsReplacedByPollingUntilItIsBack) {
  StartAll();
  owner_->Put("a", "1");
  ASSERT_TRUE(reader_->Sees("a", "1"));
  nats_.Kill(SIGKILL);
  ASSERT_TRUE(owner_->Disconnected());
  ASSERT_TRUE(reader_->Disconnected());
  owner_->Put("a", "2");
  EXPECT_TRUE(reader_->Sees("a", "2"));
  nats_.WipeStore();
  nats_.Start();
  EXPECT_TRUE(owner_->Connected());
  EXPECT_TRUE(reader_->Connected());
  owner_->Put("a", "3");
  owner_->Complete();
  EXPECT_TRUE(reader_->Sees("a", "3"));
  EXPECT_TRUE(reader_->LiveAndComplete());
}

TEST_F(NatsBusTest, AServerThatStandsStillHoldsNobodyUp) {
  StartAll();
  owner_->Put("a", "1");
  ASSERT_TRUE(reader_->Sees("a", "1"));
  nats_.Signal(SIGSTOP);
  const std::string big(100 << 10, 'x');
  for (int i = 0; i < 200; ++i) owner_->Put("flood", big + std::to_string(i));
  owner_->Put("a", "2");
  EXPECT_TRUE(reader_->Sees("a", "2"));
  nats_.Signal(SIGCONT);
  owner_->Put("a", "3");
  EXPECT_TRUE(reader_->Sees("a", "3"));
  EXPECT_TRUE(owner_->Connected());
}

TEST_F(NatsBusTest, WithoutAServerItStartsAndPolls) {
  StartOwner();
  StartReader();
  owner_->Put("a", "1");
  owner_->Complete();
  EXPECT_TRUE(reader_->Sees("a", "1"));
  EXPECT_TRUE(reader_->LiveAndComplete());
  nats_.Start();
  EXPECT_TRUE(owner_->Connected());
  EXPECT_TRUE(reader_->Connected());
}

TEST_F(NatsBusTest, WithoutAnyUrlItPolls) {
  owner_ = std::make_unique<Process>(Wiring{"pleg", dir_.path(), "", ""});
  owner_->Own();
  reader_ = std::make_unique<Process>(Wiring{"status", dir_.path(), "", ""});
  reader_->View();
  owner_->Put("a", "1");
  EXPECT_TRUE(reader_->Sees("a", "1"));
}

TEST_F(NatsBusTest, ANewStartOfTheOwnerReplacesTheOld) {
  StartAll();
  owner_->Put("a", "old");
  owner_->Complete();
  ASSERT_TRUE(reader_->Sees("a", "old"));
  owner_ = nullptr;
  EXPECT_TRUE(Eventually(
      [&] { return reader_->Ask([&] { return reader_->view().state() == ViewState::kStale; }); }));
  EXPECT_EQ(reader_->Name("a"), "old");
  StartOwner();
  owner_->Put("b", "new");
  EXPECT_TRUE(reader_->Sees("b", "new"));
  EXPECT_EQ(reader_->Name("a"), "old") << "nobody said that it is gone";
  owner_->Complete();
  EXPECT_TRUE(reader_->Sees("a", "absent"));
}

TEST_F(NatsBusTest, WhatMayNotBePublishedIsLoudAndComesByPolling) {
  nats_.Start();
  owner_ = std::make_unique<Process>(For("pleg", "mute"));
  owner_->Own();
  StartReader();
  ASSERT_TRUE(owner_->Connected());
  owner_->Put("a", "1");
  EXPECT_TRUE(reader_->Sees("a", "1"));
  EXPECT_TRUE(
      Eventually([&] { return owner_->Logged(LogLevel::kError, "the bus refuses this process"); }));
  EXPECT_GE(owner_->Metric("splitlet_bus_permission_errors_total"), 1);
}

TEST_F(NatsBusTest, AWrongPasswordIsLoudAndTriedAgain) {
  std::ofstream(nats_.Creds("pleg")) << "pleg\nwrong\n";
  nats_.Start();
  StartOwner();
  StartReader();
  owner_->Put("a", "1");
  EXPECT_TRUE(reader_->Sees("a", "1"));
  EXPECT_TRUE(
      Eventually([&] { return owner_->Logged(LogLevel::kError, "the bus refuses this process"); }));
  EXPECT_TRUE(
      Eventually([&] { return owner_->Metric("splitlet_bus_permission_errors_total") >= 2; }));
}

TEST_F(NatsBusTest, CredentialsThatCannotBeReadAreAnError) {
  RealClock clock;
  exec::LoopThread loop(clock);
  prometheus::Registry registry;
  FakeLogSink sink;
  const auto bus = ConnectBus({.process = "pleg",
                               .node_name = "n",
                               .run_dir = dir_.path(),
                               .nats_url = nats_.url(),
                               .nats_creds = "/nonexistent",
                               .loop = loop,
                               .clock = clock,
                               .metrics = registry,
                               .log = Log(sink)});
  EXPECT_EQ(bus.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(NatsBusTest, BigRecordsComeByListAndTooBigOnesAreRefused) {
  StartAll();
  const std::string big(1 << 20, 'x');
  owner_->Put("a", big);
  EXPECT_TRUE(reader_->Sees("a", big));
  RuntimeRecord record;
  record.mutable_pod()->set_name(std::string(kMaxRecordBytes, 'x'));
  owner_->On(
      [&] { EXPECT_EQ(owner_->table().Put("b", record).code(), StatusCode::kResourceExhausted); });
  EXPECT_TRUE(reader_->Connected()) << "nothing above the server's limit was sent";
}

TEST_F(NatsBusTest, AReaderWhoseLoopHangsLosesMessagesAndRepairs) {
  StartAll();
  owner_->Put("a", "1");
  ASSERT_TRUE(reader_->Sees("a", "1"));
  std::promise<void> resume;
  reader_->loop().Post([&] { resume.get_future().wait(); });
  const std::string big(200 << 10, 'x');
  for (int i = 0; i < 200; ++i) {
    owner_->Put("flood", big + std::to_string(i));
    owner_->Put("a", std::to_string(i));
  }
  EXPECT_TRUE(Eventually([&] { return reader_->Metric("splitlet_bus_overflows_total") >= 1; }));
  resume.set_value();
  EXPECT_TRUE(reader_->Sees("a", "199"));
  EXPECT_TRUE(reader_->Sees("flood", big + "199"));
}

/// Not a test of its own: the reader of the next one, in a process that can be stopped. Writes what
/// it sees of key `a` to a file, until it is killed.
TEST(ChildProcess, Reader) {
  const char* dir = getenv(kChildVariable);
  if (dir == nullptr) GTEST_SKIP() << "run by another test";
  std::string url;
  std::ifstream(std::string(dir) + "/url") >> url;
  Process reader({"status", dir, url, std::string(dir) + "/creds-status"});
  reader.View();
  std::string shown;
  while (true) {
    const std::string name = reader.Name("a");
    if (name != shown) {
      std::ofstream(std::string(dir) + "/seen.new") << name;
      std::filesystem::rename(std::string(dir) + "/seen.new", std::string(dir) + "/seen");
      shown = name;
    }
    poll(nullptr, 0, 5);
  }
}

TEST_F(NatsBusTest, AReaderThatIsStoppedForAWhileCatchesUp) {
  nats_.Start();
  StartOwner();
  ASSERT_TRUE(owner_->Connected());
  std::ofstream(dir_.path() + "/url") << nats_.url();
  ASSERT_EQ(setenv(kChildVariable, dir_.path().c_str(), 1), 0);
  const pid_t child = Spawn({"/proc/self/exe", "--gtest_filter=ChildProcess.Reader"});
  ASSERT_EQ(unsetenv(kChildVariable), 0);
  const auto sees = [&](const std::string& want) {
    return Eventually([&] {
      std::string seen;
      std::ifstream(dir_.path() + "/seen") >> seen;
      return seen == want;
    });
  };
  owner_->Put("a", "first");
  EXPECT_TRUE(sees("first"));
  kill(child, SIGSTOP);
  const std::string big(100 << 10, 'x');
  for (int i = 0; i < 100; ++i) owner_->Put("flood", big + std::to_string(i));
  owner_->Put("a", "second");
  kill(child, SIGCONT);
  EXPECT_TRUE(sees("second"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(Wire, AChangeAndABeatComeBackAsTheyWere) {
  Envelope change;
  change.start = {7, 8};
  change.sequence = 9;
  change.producer = "pleg";
  change.change = Change{
      .key = "k", .record = std::make_shared<const std::string>("bytes"), .traceparent = "00-t"};
  const auto change_back = DecodeEnvelope(EncodeEnvelope(change));
  ASSERT_TRUE(change_back.ok());
  EXPECT_EQ(change_back->start, change.start);
  EXPECT_EQ(change_back->sequence, 9u);
  EXPECT_EQ(change_back->producer, "pleg");
  EXPECT_EQ(*change_back->change->record, "bytes");
  EXPECT_EQ(change_back->change->traceparent, "00-t");

  Envelope beat;
  beat.start = {7, 8};
  beat.promise = {3, {{"file"}, {7, 5ns}, {"uid"}}};
  beat.sent_at = {7, 6ns};
  const auto beat_back = DecodeEnvelope(EncodeEnvelope(beat));
  ASSERT_TRUE(beat_back.ok());
  EXPECT_FALSE(beat_back->change.has_value());
  EXPECT_EQ(beat_back->promise.version, 3u);
  EXPECT_EQ(beat_back->promise.completeness, beat.promise.completeness);
  EXPECT_EQ(beat_back->sent_at, beat.sent_at);
}

TEST(Wire, WhatIsNoMessageIsRefused) {
  EXPECT_FALSE(DecodeEnvelope("\xff\xff\xff").ok());
  EXPECT_FALSE(DecodeEnvelope("").ok()) << "neither change nor beat";
  Envelope without_key;
  without_key.sequence = 1;
  without_key.change = Change{};
  EXPECT_FALSE(DecodeEnvelope(EncodeEnvelope(without_key)).ok());
  ListAnswer answer;
  v1::ListItem item;
  EncodeItem(Change{.key = "k"}, item);
  EXPECT_FALSE(DecodeItem(item, true, answer).ok()) << "a list begins with its head";
}

TEST(WireFuzz, MutatedMessagesAreRefusedOrUnderstoodAndHarmNoView) {
  std::vector<std::string> envelopes, items;
  for (const bool removal : {false, true}) {
    Envelope e{.start = {7, 8}, .sequence = 9, .producer = "pleg"};
    e.change = Change{.key = "k", .removal = removal, .traceparent = "00-t"};
    if (!removal) e.change->record = std::make_shared<const std::string>("record");
    envelopes.push_back(EncodeEnvelope(e));
    v1::ListItem item;
    EncodeItem(*e.change, item);
    items.push_back(item.SerializeAsString());
  }
  Envelope beat{.start = {7, 8}, .sequence = 3, .producer = "pleg"};
  beat.promise = {3, {{"file", "all"}, {7, 5ns}, {"k"}}};
  beat.sent_at = {7, 6ns};
  envelopes.push_back(EncodeEnvelope(beat));
  v1::ListItem head;
  EncodeHead({.start = {7, 8}, .sequence = 2, .full = true, .promise = beat.promise}, head);
  items.push_back(head.SerializeAsString());

  Random random(20260108);
  const Clock::Time now{7, 10ns};
  size_t understood = 0;
  for (int round = 0; round < 2'000; ++round) {
    ViewCore view(
        {"runtime", "pleg", now}, [](const RawView::Change&) {}, [] {});
    for (int i = 0; i < 20; ++i) {
      const auto envelope =
          DecodeEnvelope(Mutate(envelopes[random.Below(envelopes.size())], envelopes, {}, random));
      if (envelope.ok()) {
        ++understood;
        const auto again = DecodeEnvelope(EncodeEnvelope(*envelope));
        ASSERT_TRUE(again.ok());
        ASSERT_EQ(EncodeEnvelope(*again), EncodeEnvelope(*envelope));
        view.OnEnvelope(*envelope, now);
      }
      ListAnswer answer;
      v1::ListItem item;
      bool whole = true;
      for (size_t n = 0; n < 3 && whole; ++n) {
        const std::string& from = n == 0 ? items.back() : items[random.Below(items.size())];
        whole = item.ParseFromString(Mutate(from, items, {}, random)) &&
                DecodeItem(item, n == 0, answer).ok();
      }
      if (const auto request = view.NextList(now); request) {
        whole ? view.OnListed(request->id, answer, now) : view.OnListFailed(request->id, now);
      }
    }
    static_cast<void>(view.IsComplete("file"));
  }
  EXPECT_GT(understood, 1'000u);
}

}  // namespace
}  // namespace splitlet::bus
