#include "libs/bus/fake_bus.h"

#include <gtest/gtest.h>

#include "libs/base/fake_span_sink.h"
#include "libs/base/trace.h"
#include "libs/bus/typed.h"
#include "libs/exec/fake_exec.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {
namespace {

using v1::RuntimeRecord;

RuntimeRecord Runtime(const std::string& name) {
  RuntimeRecord record;
  record.mutable_pod()->set_name(name);
  return record;
}

Completeness AllComplete() {
  Completeness complete;
  complete.scopes.insert(std::string(kAll));
  return complete;
}

struct OwnerProcess {
  OwnerProcess(exec::Scheduler& scheduler, FakeBusNetwork& network)
      : loop(scheduler, scheduler.NewOwner("pleg")),
        bus(network, "pleg", loop),
        table(*Own<RuntimeRecord>(bus, "runtime")) {}
  exec::FakeLoop loop;
  FakeBus bus;
  Table<RuntimeRecord> table;
};

struct ReaderProcess {
  ReaderProcess(exec::Scheduler& scheduler, FakeBusNetwork& network)
      : loop(scheduler, scheduler.NewOwner("status")),
        bus(network, "status", loop),
        view(*ViewOf<RuntimeRecord>(bus, "runtime")) {
    view.OnChange([this](const View<RuntimeRecord>::Change& change) {
      if (change.present_after) {
        told[change.key] = change.after == nullptr ? "unknown" : change.after->pod().name();
      } else {
        told.erase(change.key);
      }
    });
  }
  exec::FakeLoop loop;
  FakeBus bus;
  View<RuntimeRecord> view;
  std::map<std::string, std::string> told;
};

struct Net {
  explicit Net(uint64_t seed = 1) : network(clock, seed) {
    owner = std::make_unique<OwnerProcess>(scheduler, network);
    reader = std::make_unique<ReaderProcess>(scheduler, network);
    scheduler.RunUntilIdle();
  }
  void RestartOwner() {
    scheduler.Drop(owner->loop.owner());
    owner = nullptr;
    owner = std::make_unique<OwnerProcess>(scheduler, network);
  }
  FakeClock clock;
  exec::Scheduler scheduler{clock};
  FakeBusNetwork network;
  std::unique_ptr<OwnerProcess> owner;
  std::unique_ptr<ReaderProcess> reader;
};

TEST(FakeBus, APutArrivesWithoutTimePassing) {
  Net net;
  EXPECT_TRUE(net.reader->view.live());
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x")).ok());
  net.scheduler.RunUntilIdle();
  ASSERT_NE(net.reader->view.Find("a"), nullptr);
  EXPECT_EQ(net.reader->told["a"], "x");
  EXPECT_FALSE(net.reader->view.LiveAndComplete());
  net.owner->table.SetComplete(AllComplete());
  net.scheduler.RunUntilIdle();
  EXPECT_TRUE(net.reader->view.LiveAndComplete());
}

TEST(FakeBus, WhatReadersCouldNotTakeIsRefusedAndTheLastGoodRecordStays) {
  Net net;
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("good")).ok());
  RuntimeRecord of_another = Runtime("x");
  of_another.mutable_pod()->set_uid("b");
  const struct {
    const char* name;
    const char* key;
    RuntimeRecord record;
  } kCases[] = {
      {"a string that is no text does not parse back", "a", Runtime("\xFF")},
      {"nor does the first record of a key", "new", Runtime("\xE2\x82")},
      {"a record of another pod", "a", of_another},
      {"a key that is a path", "../../a", Runtime("x")},
      {"no key", "", Runtime("x")},
  };
  uint64_t refused = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(net.owner->table.Put(c.key, c.record).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(net.owner->bus.puts().refused, ++refused);
    EXPECT_EQ(net.owner->table.Keys(), std::vector<std::string>{"a"});
    EXPECT_EQ(net.owner->table.Get("a")->pod().name(), "good");
  }
  ASSERT_TRUE(net.owner->table.Put("b", of_another).ok());
  net.scheduler.RunUntilIdle();
  EXPECT_EQ(net.reader->told.at("a"), "good");
  EXPECT_EQ(net.owner->bus.puts().published, 2u);
}

TEST(FakeBus, ARecordThatNamesAnotherPodThanItsKeyIsUnknown) {
  Net net;
  auto view = *ViewOf<RuntimeRecord>(net.reader->bus, "runtime");
  net.owner.reset();
  exec::FakeLoop loop(net.scheduler, net.scheduler.NewOwner("forger"));
  FakeBus bus(net.network, "pleg", loop);
  const auto forged = *bus.OwnRaw("runtime");
  RuntimeRecord record = Runtime("x");
  record.mutable_pod()->set_uid("b");
  ASSERT_TRUE(forged->Put("a", record.SerializeAsString(), "").ok());
  net.scheduler.RunUntilIdle();
  EXPECT_TRUE(view.Contains("a"));
  EXPECT_EQ(view.Find("a"), nullptr);
}

TEST(FakeBus, AChangeOfASampledTraceIsAStepForOwnerAndViewers) {
  Net net;
  const auto sink = std::make_shared<FakeSpanSink>(net.clock);
  const SpanSinkScope scope(sink);
  Random random(1);
  const std::string before = MakeTraceparent(random, true);
  std::string after;
  net.reader->view.OnChange([&](const auto& change) { after = change.traceparent; });
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x"), before).ok());
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x"), before).ok());
  net.scheduler.RunUntilIdle();
  const auto spans = sink->spans();
  ASSERT_EQ(spans.size(), 2U) << "an unchanged record is no step";
  EXPECT_EQ(spans[0].name, "put runtime");
  EXPECT_EQ(spans[0].kind, SpanKind::kProducer);
  EXPECT_EQ(spans[0].parent_id, SpanIdOf(before));
  EXPECT_EQ(spans[1].name, "take runtime");
  EXPECT_EQ(spans[1].kind, SpanKind::kConsumer);
  EXPECT_EQ(spans[1].parent_id, spans[0].span_id);
  EXPECT_EQ(spans[1].attributes.at(0).second, "a");
  EXPECT_EQ(SpanIdOf(after), spans[1].span_id) << "what comes of it hangs below";
  ASSERT_TRUE(net.owner->table.Put("b", Runtime("y"), MakeTraceparent(random, false)).ok());
  net.scheduler.RunUntilIdle();
  EXPECT_EQ(sink->spans().size(), 2U) << "not sampled";
}

TEST(FakeBus, AnOwnerHasOneTableThatIsItsOwn) {
  Net net;
  EXPECT_EQ(net.owner->bus.OwnRaw("runtime").status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(net.reader->bus.OwnRaw("runtime").status().code(), StatusCode::kPermissionDenied);
}

TEST(FakeBus, WithoutTheBusViewsPollTwiceASecond) {
  Net net;
  net.scheduler.Advance(2s);
  net.network.SetUp(false);
  net.scheduler.RunUntilIdle();
  EXPECT_FALSE(net.reader->bus.connected());
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x")).ok());
  net.scheduler.Advance(750ms);
  EXPECT_EQ(net.reader->told["a"], "x");
  net.scheduler.Advance(10s);
  EXPECT_TRUE(net.reader->view.live());
  net.network.SetUp(true);
  net.scheduler.Advance(2s);
  const auto lists = net.reader->bus.Stats()[0].counts.delta_lists;
  net.scheduler.Advance(10s);
  EXPECT_EQ(net.reader->bus.Stats()[0].counts.delta_lists, lists)
      << "polling ends with the heartbeats";
}

TEST(FakeBus, ACrashedOwnerMakesItsViewsStaleAndItsNextStartReplacesThem) {
  Net net;
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x")).ok());
  net.owner->table.SetComplete(AllComplete());
  net.scheduler.RunUntilIdle();
  net.scheduler.Drop(net.owner->loop.owner());
  net.owner = nullptr;
  net.scheduler.Advance(5s);
  EXPECT_EQ(net.reader->view.state(), ViewState::kStale);
  EXPECT_TRUE(net.reader->view.Contains("a"));
  net.owner = std::make_unique<OwnerProcess>(net.scheduler, net.network);
  net.scheduler.RunUntilIdle();
  net.scheduler.Advance(kPollPeriod);
  EXPECT_TRUE(net.reader->view.live());
  EXPECT_FALSE(net.reader->view.IsComplete());
  EXPECT_TRUE(net.reader->view.Contains("a"))
      << "a new start that is not complete takes nothing away";
  net.owner->table.SetComplete(AllComplete());
  net.scheduler.RunUntilIdle();
  EXPECT_FALSE(net.reader->view.Contains("a"));
  EXPECT_TRUE(net.reader->view.LiveAndComplete());
}

TEST(FakeBus, TwoStartsAtTheSameInstantAreTwoStarts) {
  Net net;
  ASSERT_TRUE(net.owner->table.Put("a", Runtime("x")).ok());
  net.owner->table.SetComplete(AllComplete());
  net.scheduler.RunUntilIdle();
  net.RestartOwner();
  net.owner->table.SetComplete(AllComplete());
  net.scheduler.RunUntilIdle();
  EXPECT_FALSE(net.reader->view.Contains("a"));
}

TEST(FakeBus, APausedOwnerGoesStaleAndComesBack) {
  Net net;
  net.scheduler.Advance(1s);
  net.scheduler.Pause(net.owner->loop.owner());
  net.scheduler.Advance(6s);
  EXPECT_EQ(net.reader->view.state(), ViewState::kStale);
  net.scheduler.Resume(net.owner->loop.owner());
  net.scheduler.Advance(2s);
  EXPECT_TRUE(net.reader->view.live());
}

TEST(FakeBus, SignalsReachThoseWhoListen) {
  Net net;
  std::vector<std::string> heard;
  net.reader->bus.OnSignal("pleg", "pod-changed",
                           [&](const std::string& payload) { heard.push_back(payload); });
  net.owner->bus.Signal("pod-changed", "uid");
  net.owner->bus.Signal("other", "uid");
  net.scheduler.RunUntilIdle();
  EXPECT_EQ(heard, std::vector<std::string>{"uid"});
  net.network.SetUp(false);
  net.owner->bus.Signal("pod-changed", "lost");
  net.scheduler.RunUntilIdle();
  EXPECT_EQ(heard.size(), 1u);
}

/// Everything that can go wrong between three processes, then quiet: the view has what the owner
/// has.
void RunSeed(uint64_t seed) {
  Net net(seed);
  Random random(seed ^ 0x5eed);
  net.scheduler.SetRandom(&random);
  net.network.SetFaults({.lose = 0.2,
                         .twice = 0.1,
                         .delay = 0.3,
                         .overtake = 0.2,
                         .max_delay = 2s,
                         .fail_list = 0.3,
                         .latency = 1ms});
  std::map<std::string, std::string> world;
  const auto read_world = [&] {
    for (const auto& key : net.owner->table.Keys()) {
      if (!world.contains(key)) net.owner->table.Remove(key);
    }
    for (const auto& [key, name] : world)
      ASSERT_TRUE(net.owner->table.Put(key, Runtime(name)).ok());
    net.owner->table.SetComplete(AllComplete());
  };
  for (int i = 0; i < 40; ++i) {
    net.scheduler.Advance(Duration{static_cast<int64_t>(random.Below(1'500'000'000))});
    const std::string key = std::to_string(random.Below(5));
    switch (random.Below(10)) {
      case 0: net.RestartOwner(); break;
      case 1: net.network.SetUp(!net.network.up()); break;
      case 2: net.scheduler.Delay(net.reader->loop.owner(), 4s); break;
      case 3: net.network.SetCallsFail("pleg", random.Below(2) == 0); break;
      case 4: world.erase(key); break;
      case 5:
      case 6: world[key] = std::to_string(random.Next()); break;
      default: read_world(); break;
    }
  }
  net.network.SetFaults({});
  net.network.SetUp(true);
  net.network.SetCallsFail("pleg", false);
  read_world();
  net.scheduler.Advance(10s);
  EXPECT_TRUE(net.reader->view.LiveAndComplete());
  EXPECT_EQ(net.reader->told, world);
  EXPECT_EQ(net.reader->view.size(), world.size());
}

TEST(FakeBus, EverySeedOfFaultsEndsWithTheOwnersContent) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RunSeed(seed);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace splitlet::bus
