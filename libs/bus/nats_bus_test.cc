#include "libs/bus/nats_bus.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <signal.h>
#include <sys/wait.h>

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
#include "tests/harness/bus_process.h"
#include "tests/harness/child.h"
#include "tests/harness/nats_server.h"

namespace splitlet::bus {
namespace {

using v1::RuntimeRecord;
constexpr const char* kChildVariable = "SPLITLET_BUS_TEST_CHILD";

/// Polls until `condition` holds; false after half a minute.
bool Eventually(const std::function<bool()>& condition) { return harness::WaitFor(30s, condition); }

/// pleg owns `runtime`, status reads it, mute may publish nothing.
std::vector<harness::NatsUser> Users() {
  return {{"pleg", R"("splitlet.*.runtime","splitlet.*.pleg.>")", ""},
          {"status", "", R"("splitlet.*.runtime","splitlet.*.pleg.>")"},
          {"mute", R"("nothing")", ""}};
}

/// A process and its record of `runtime`, as owner or reader.
class Process {
 public:
  explicit Process(const harness::BusWiring& wiring) : process_(wiring, sink_) {}
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
  bool Ask(const std::function<bool()>& f) { return process_.Ask(f); }
  double Metric(const std::string& name, const std::string& value = {}) const {
    return process_.Metric(name, value);
  }
  void Own() {
    On([this] {
      table_ = std::make_unique<Table<RuntimeRecord>>(*bus::Own<RuntimeRecord>(bus(), "runtime"));
    });
  }
  void View() {
    On([this] {
      view_ = std::make_unique<bus::View<RuntimeRecord>>(*ViewOf<RuntimeRecord>(bus(), "runtime"));
    });
  }
  void Put(const std::string& key, const std::string& name) {
    On([&] { PutOnLoop(key, name); });
  }
  /// Puts many records: none waits until the one before is on its way.
  void Flood(int count, const std::string& name) {
    On([&] {
      for (int i = 0; i < count; ++i) PutOnLoop("flood", name + std::to_string(i));
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
  bool Connected() {
    return Eventually([this] { return process_.Connected(); });
  }
  bool Disconnected() {
    return Eventually([this] { return !process_.Connected(); });
  }
  bool LiveAndComplete() {
    return Eventually([this] { return Ask([this] { return view_->LiveAndComplete(); }); });
  }
  bool Logged(LogLevel level, const std::string& message) const {
    for (const auto& line : sink_.lines()) {
      if (line.level == level && line.message == message) return true;
    }
    return false;
  }
  Bus& bus() { return process_.bus(); }
  Table<RuntimeRecord>& table() { return *table_; }
  bus::View<RuntimeRecord>& view() { return *view_; }
  exec::LoopThread& loop() { return process_.loop(); }

 private:
  void PutOnLoop(const std::string& key, const std::string& name) {
    RuntimeRecord record;
    record.mutable_pod()->set_name(name);
    ASSERT_TRUE(table_->Put(key, record).ok());
  }

  FakeLogSink sink_;
  harness::BusProcess process_;
  std::unique_ptr<Table<RuntimeRecord>> table_;
  std::unique_ptr<bus::View<RuntimeRecord>> view_;
};

class NatsBusTest : public ::testing::Test {
 protected:
  harness::BusWiring For(const std::string& process, const std::string& user) const {
    return {process, dir_.path(), nats_.url(), nats_.Creds(user), nats_.ca()};
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
  harness::TempDir dir_{"bus"};
  harness::NatsServer nats_{dir_.path(), Users()};
  std::unique_ptr<Process> owner_, reader_;
};

TEST_F(NatsBusTest, ChangesHeartbeatsAndSignalsArrive) {
  StartAll();
  // Shared: one may still arrive when the test has seen enough.
  const auto heard = std::make_shared<std::atomic<bool>>(false);
  reader_->On([&] {
    reader_->bus().OnSignal("pleg", "pod-changed", [heard](const std::string& payload) {
      if (payload == "uid") *heard = true;
    });
  });
  owner_->Put("a", "x");
  owner_->Complete();
  EXPECT_TRUE(reader_->Sees("a", "x"));
  EXPECT_TRUE(reader_->LiveAndComplete());
  owner_->On([&] { owner_->table().Remove("a"); });
  EXPECT_TRUE(reader_->Sees("a", "absent"));
  // A signal may be lost while the subscription is on its way.
  EXPECT_TRUE(Eventually([&] {
    owner_->On([&] { owner_->bus().Signal("pod-changed", "uid"); });
    return heard->load();
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
  owner_->Flood(200, big);
  owner_->Put("a", "2");
  EXPECT_TRUE(reader_->Sees("a", "2"));
  EXPECT_GT(owner_->Metric("splitlet_bus_publish_dropped_total", "full"), 0);
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
  EXPECT_GT(owner_->Metric("splitlet_bus_publish_dropped_total", "away"), 0);
  EXPECT_EQ(owner_->Metric("splitlet_bus_publish_dropped_total", "full"), 0);
  nats_.Start();
  EXPECT_TRUE(owner_->Connected());
  EXPECT_TRUE(reader_->Connected());
}

TEST_F(NatsBusTest, WithoutAnyUrlItPolls) {
  owner_ = std::make_unique<Process>(harness::BusWiring{"pleg", dir_.path(), "", "", ""});
  owner_->Own();
  reader_ = std::make_unique<Process>(harness::BusWiring{"status", dir_.path(), "", "", ""});
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
  EXPECT_EQ(reader_->Name("a"), "old") << "no message of the owner removed it";
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
      Eventually([&] { return owner_->Logged(LogLevel::kError, "NATS refuses this process"); }));
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
      Eventually([&] { return owner_->Logged(LogLevel::kError, "NATS refuses this process"); }));
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
                               .nats_ca = nats_.ca(),
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
  Process reader({"status", dir, url, std::string(dir) + "/creds-status",
                  std::string(dir) + "/tls/current/ca.pem"});
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
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const pid_t child = harness::Spawn({.argv = {self.string(), "--gtest_filter=ChildProcess.Reader"},
                                      .env = {{kChildVariable, dir_.path()}},
                                      .output = ""});
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

  Envelope heartbeat;
  heartbeat.start = {7, 8};
  heartbeat.promise = {3, {{"file"}, {7, 5ns}, {"uid"}}};
  heartbeat.sent_at = {7, 6ns};
  const auto heartbeat_back = DecodeEnvelope(EncodeEnvelope(heartbeat));
  ASSERT_TRUE(heartbeat_back.ok());
  EXPECT_FALSE(heartbeat_back->change.has_value());
  EXPECT_EQ(heartbeat_back->promise.version, 3u);
  EXPECT_EQ(heartbeat_back->promise.completeness, heartbeat.promise.completeness);
  EXPECT_EQ(heartbeat_back->sent_at, heartbeat.sent_at);
}

TEST(Wire, WhatIsNoMessageIsRefused) {
  EXPECT_FALSE(DecodeEnvelope("\xff\xff\xff").ok());
  EXPECT_FALSE(DecodeEnvelope("").ok()) << "neither change nor heartbeat";
  Envelope without_key;
  without_key.sequence = 1;
  without_key.change = Change{};
  EXPECT_FALSE(DecodeEnvelope(EncodeEnvelope(without_key)).ok());
  ListAnswer answer;
  v1::ListItem item;
  EncodeItem(Change{.key = "k"}, item);
  EXPECT_FALSE(DecodeItem(item, true, answer).ok()) << "a list begins with its head";
}

TEST(Wire, AListWithoutAnEndIsGivenUp) {
  ListAnswer answer;
  v1::ListItem item;
  EncodeHead({.start = {7, 8}}, item);
  ASSERT_TRUE(DecodeItem(item, true, answer).ok());
  for (size_t i = 0; i < kMaxListed; ++i) {
    item.Clear();
    EncodeItem(Change{.key = "k", .removal = true}, item);
    ASSERT_TRUE(DecodeItem(item, false, answer).ok());
  }
  item.Clear();
  EncodeItem(Change{.key = "k", .removal = true}, item);
  EXPECT_EQ(DecodeItem(item, false, answer).code(), StatusCode::kResourceExhausted);
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
  Envelope heartbeat{.start = {7, 8}, .sequence = 3, .producer = "pleg"};
  heartbeat.promise = {3, {{"file", "all"}, {7, 5ns}, {"k"}}};
  heartbeat.sent_at = {7, 6ns};
  envelopes.push_back(EncodeEnvelope(heartbeat));
  v1::ListItem head;
  EncodeHead({.start = {7, 8}, .sequence = 2, .full = true, .promise = heartbeat.promise}, head);
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
