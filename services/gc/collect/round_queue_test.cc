#include "services/gc/collect/round_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

constexpr int kMaxWaiting = static_cast<int>(RoundQueue::kMaxWaiting);

TEST(RoundQueue, RunsOneRoundAfterTheOther) {
  RoundQueue queue;
  std::vector<int> started;
  for (const int round : {1, 2, 3}) queue.Add([&, round] { started.push_back(round); });
  EXPECT_EQ(started, (std::vector<int>{1}));
  EXPECT_EQ(queue.waiting(), 2U);
  queue.Next();
  EXPECT_EQ(started, (std::vector<int>{1, 2}));
  queue.Next();
  queue.Next();
  EXPECT_EQ(started, (std::vector<int>{1, 2, 3}));
  queue.Add([&] { started.push_back(4); });
  EXPECT_EQ(started.back(), 4) << "an idle queue starts a round immediately";
}

TEST(RoundQueue, IsFullWithItsLimitOfWaitingRounds) {
  RoundQueue queue;
  queue.Add([] {});  // runs
  for (int waiting = 0; waiting < kMaxWaiting; ++waiting) {
    EXPECT_FALSE(queue.full()) << waiting;
    queue.Add([] {});
  }
  EXPECT_TRUE(queue.full());
  queue.Next();
  EXPECT_FALSE(queue.full());
}

/// GarbageCollector on the fakes of a node, without the rest of gc.
struct TestCollector {
  TestNode node;
  exec::FakeLoop loop{node.all, node.all.NewOwner("gc")};
  exec::FakeStrands strands{loop};
  bus::FakeBus bus{node.network, "gc", loop};
  bus::View<v1::DesiredRecord> desired = *bus::ViewOf<v1::DesiredRecord>(bus, "desired");
  bus::View<v1::WorkerRecord> workers = *bus::ViewOf<v1::WorkerRecord>(bus, "workers");
  bus::View<v1::RuntimeRecord> runtime = *bus::ViewOf<v1::RuntimeRecord>(bus, "runtime");
  prometheus::Registry registry;
  GcMetrics metrics{registry};
  NodeEvents node_events{node.events, "node"};
  Log log{node.sink};
  FakeWorkerClient pod_worker{node.holds};
  peers::FakeDesiredOwner config_source{[](const auto&, const auto&) { return false; }};
  GarbageCollector collector{
      {.env =
           {.clock = node.clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .files = node.files,
       .reader = node.runtime,
       .remover = node.runtime,
       .images = node.runtime,
       .logs = node.runtime,
       .compress = nullptr,
       .stop_sandbox = nullptr,
       .stop_container = nullptr,
       .pod_worker = pod_worker,
       .config_source = config_source,
       .desired = desired,
       .workers = workers,
       .runtime = runtime,
       .events = node.events,
       .node_events = node_events,
       .metrics = metrics},
      node.config};
};

TEST(GarbageCollector, WithAFullQueueRunIsRefusedAndFreeDoesNotWait) {
  TestCollector test;
  int done = 0, done_at_free = -1;
  StatusCode refused = StatusCode::kOk;
  test.loop.Post([&] {
    for (int round = 0; round < 1 + kMaxWaiting; ++round)
      test.collector.Run(true,
                         [&](const StatusOr<Report>& report) { done += report.ok() ? 1 : 0; });
    test.collector.Run(true, [&](const StatusOr<Report>& r) { refused = r.status().code(); });
    test.collector.Free({.containers = true, .images = true}, [&] { done_at_free = done; });
  });
  test.node.all.RunUntilIdle();
  EXPECT_EQ(refused, StatusCode::kResourceExhausted);
  EXPECT_EQ(done, 1 + kMaxWaiting);
  EXPECT_GE(done_at_free, 0) << "it never ended";
  EXPECT_LE(done_at_free, 1) << "it waited for the rounds of the queue";
}

/// Rounds fill the queue just before both timers fire, at 10 minutes.
TEST(GcService, AFullQueueTakesNoRoundsOfTheTimers) {
  TestNode node;
  std::map<std::string, int> calls;
  node.on_call = [&](std::string_view method) { ++calls[std::string(method)]; };
  node.Start();
  node.CompleteViews();
  node.all.Advance(4min + 50s);
  int done = 0;
  node.process->loop.RunAfter(5min + 10s, [&] {
    calls.clear();
    for (int round = 0; round < 1 + kMaxWaiting; ++round)
      node.service().Run(true, [&](const StatusOr<Report>& r) { done += r.ok() ? 1 : 0; });
  });
  node.all.Advance(5min + 10s);
  EXPECT_EQ(done, 1 + kMaxWaiting) << "no timer was first";
  EXPECT_EQ(calls["ListPodSandbox"], 1 + kMaxWaiting) << "a round of containers lists them once";
  EXPECT_EQ(calls["ListImages"], 1 + kMaxWaiting) << "a round of images lists them once";
}

}  // namespace
}  // namespace splitlet::gc
