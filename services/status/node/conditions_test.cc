#include "services/status/node/conditions.h"

#include <gtest/gtest.h>

#include "services/status/events/event_store.h"

namespace splitlet::status {
namespace {

class Node : public ::testing::Test {
 protected:
  std::string Ready() {
    const auto conditions = ComputeNodeConditions({.ledger = ledger,
                                                   .runtime = runtime,
                                                   .pressure = pressure,
                                                   .missing_capacity = missing,
                                                   .storage_problem = storage_problem,
                                                   .before = before,
                                                   .now = clock.WallNow()});
    before = conditions;
    return conditions.back().status() + ": " + conditions.back().message();
  }
  FakeClock clock;
  AnswerLedger ledger{{{"pleg", 180s}, {"gc", 300s}}, 25s};
  peers::RuntimeState runtime{.known = true,
                              .conditions = {{.type = "RuntimeReady", .status = true},
                                             {.type = "NetworkReady", .status = true}}};
  const v1::PressureRecord* pressure = nullptr;
  std::vector<std::string> missing;
  std::string storage_problem;
  std::vector<v1::NodeCondition> before;
};

TEST_F(Node, IsReadyWhenTheRuntimeIsAndNobodyIsMissing) {
  EXPECT_EQ(Ready(), "True: kubelet is posting ready status");
  runtime.known = false;
  EXPECT_EQ(Ready(), "False: container runtime status check may not have completed yet");
}

TEST_F(Node, ShowsWhatTheRuntimeMisses) {
  runtime.conditions[1] = {
      .type = "NetworkReady", .reason = "NetworkPluginNotReady", .message = "no CNI"};
  EXPECT_EQ(
      Ready(),
      "False: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
      "message:no CNI");
  runtime.conditions.clear();
  missing = {"memory"};
  EXPECT_EQ(Ready(),
            "False: [container runtime not ready: RuntimeReady=false reason: message:, container "
            "runtime network "
            "not ready: NetworkReady=false reason: message:, missing node capacity for resources: "
            "memory]");
}

TEST_F(Node, IsNotReadyWhileItShutsDown) {
  v1::PressureRecord record;
  pressure = &record;
  record.set_shutting_down(true);
  EXPECT_EQ(Ready(), "False: node is shutting down");
  runtime.known = false;
  missing = {"cpu"};
  storage_problem = "CSINode is not yet initialized";
  EXPECT_EQ(Ready(),
            "False: [container runtime status check may not have completed yet, CSINode is not yet "
            "initialized, node is shutting down, missing node capacity for resources: cpu]");
  runtime.known = true;
  missing.clear();
  storage_problem.clear();
  record.set_shutting_down(false);
  EXPECT_EQ(Ready(), "True: kubelet is posting ready status");
}

TEST_F(Node, NamesAProcessOnlyAfterItsWholeLimitOfQuestions) {
  ledger.OnGood("pleg", clock.Now());
  for (int i = 0; i < 17; ++i) {
    clock.Advance(10s);
    ledger.OnBad("pleg", clock.Now(), "refused");
    EXPECT_EQ(Ready(), "True: kubelet is posting ready status") << i;
  }
  clock.Advance(10s);
  ledger.OnBad("pleg", clock.Now(), "refused");
  EXPECT_EQ(Ready(), "False: pleg has not answered for 180s: refused");
  ledger.OnGood("pleg", clock.Now());
  EXPECT_EQ(Ready(), "True: kubelet is posting ready status");
}

TEST_F(Node, TimeWithoutQuestionsSaysNothing) {
  ledger.OnGood("pleg", clock.Now());
  clock.Advance(1h);
  ledger.OnBad("pleg", clock.Now(), "refused");
  EXPECT_EQ(ledger.AskedWithoutAnswer("pleg"), 0s);
  EXPECT_EQ(Ready(), "True: kubelet is posting ready status");
}

TEST_F(Node, PressureIsUnknownUntilGcSpeaks) {
  Ready();
  EXPECT_EQ(before[1].status(), "Unknown");
  v1::PressureRecord record;
  record.add_conditions("DiskPressure");
  pressure = &record;
  clock.Advance(10s);
  Ready();
  EXPECT_EQ(before[0].reason(), "KubeletHasSufficientMemory");
  EXPECT_EQ(before[1].reason(), "KubeletHasDiskPressure");
  EXPECT_EQ(before[1].since_wall_ns(), ToNanos(clock.WallNow()));
  clock.Advance(10s);
  const int64_t since = before[1].since_wall_ns();
  Ready();
  EXPECT_EQ(before[1].since_wall_ns(), since);
}

v1::EventRecord Event(const std::string& reason, const std::string& message,
                      const std::string& uid = "u1") {
  v1::EventRecord event;
  event.set_type("Normal");
  event.set_reason(reason);
  event.set_message(message);
  event.set_kind("Pod");
  event.set_uid(uid);
  return event;
}

TEST(EventStore, EqualOnesAreCountedTogether) {
  FakeClock clock;
  EventStore store(clock);
  EXPECT_EQ(store.Record(Event("Pulled", "m")), EventStore::Result::kNew);
  clock.Advance(1s);
  EXPECT_EQ(store.Record(Event("Pulled", "m")), EventStore::Result::kCounted);
  store.Record(Event("Pulled", "m", "u2"));
  const auto events = store.List("u1");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].count(), 2U);
  EXPECT_EQ(events[0].last_wall_ns() - events[0].first_wall_ns(), 1'000'000'000);
  EXPECT_EQ(store.List("").size(), 2U);
}

TEST(EventStore, FromTheTenthMessageOnSimilarOnesAreOne) {
  FakeClock clock;
  EventStore store(clock);
  for (int i = 1; i <= 12; ++i) store.Record(Event("Failed", "message " + std::to_string(i)));
  const auto events = store.List("u1");
  ASSERT_EQ(events.size(), 10U);
  EXPECT_EQ(events.back().message(), "(combined from similar events): message 12");
  EXPECT_EQ(events.back().count(), 3U);
  clock.Advance(601s);
  store.Record(Event("Failed", "later"));
  EXPECT_EQ(store.List("u1").back().message(), "later");
}

TEST(EventStore, AMessageThatReadsAsCombinedIsNot) {
  FakeClock clock;
  EventStore store(clock);
  for (const char* text : {"one", "other"}) {
    v1::EventRecord event = Event("Failed", std::string("(combined from similar events): ") + text);
    event.set_combined(true);  // no other process decides that
    store.Record(std::move(event));
  }
  EXPECT_EQ(store.List("u1").size(), 2U);
}

TEST(EventStore, ACombinedEventOfAnEarlierVersionsFileGoesOn) {
  FakeClock clock;
  EventStore store(clock);
  v1::EventRecord older = Event("Failed", "(combined from similar events): message 12");
  older.set_last_wall_ns(ToNanos(clock.WallNow()));
  older.set_count(1);
  store.Restore({older});
  for (int i = 1; i <= 10; ++i) store.Record(Event("Failed", "message " + std::to_string(i)));
  const auto events = store.List("u1");
  ASSERT_EQ(events.size(), 10U);
  EXPECT_EQ(events.back().message(), "(combined from similar events): message 10");
  EXPECT_EQ(events.back().count(), 2U);
}

TEST(EventStore, ABurstOfOneObjectIsCutAtTwentyFive) {
  FakeClock clock;
  EventStore store(clock);
  int passed = 0;
  const auto record = [&](const std::string& uid) {
    return store.Record(Event("Killing", "m", uid)) == EventStore::Result::kSpam ? 0 : 1;
  };
  for (int i = 0; i < 30; ++i) passed += record("u1");
  EXPECT_EQ(passed, 25);
  EXPECT_EQ(record("u2"), 1);
  clock.Advance(299s);
  EXPECT_EQ(record("u1"), 0);
  clock.Advance(2s);
  EXPECT_EQ(record("u1"), 1);
  EXPECT_EQ(store.List("u1").back().count(), 32U) << "with those that were not sent";
}

TEST(EventStore, WhatIsTooMuchIsOneWithItsRelatives) {
  FakeClock clock;
  EventStore store(clock);
  for (int i = 0; i < 25; ++i) store.Record(Event("Pulled", "m"));
  for (int i = 1; i <= 12; ++i)
    EXPECT_EQ(store.Record(Event("Failed", std::to_string(i))), EventStore::Result::kSpam);
  clock.Advance(301s);
  EXPECT_EQ(store.Record(Event("Failed", "13")), EventStore::Result::kCounted);
  EXPECT_EQ(store.newest().message(), "(combined from similar events): 13");
  EXPECT_EQ(store.newest().count(), 4U);
}

TEST(EventStore, OfOneFromBeforeAStartTheOccurrencesSinceAreTold) {
  FakeClock clock;
  EventStore before(clock), store(clock);
  for (int i = 0; i < 5; ++i) before.Record(Event("Pulled", "m"));
  store.Restore(before.List(""));
  clock.Advance(10s);
  store.Record(Event("Pulled", "m"));
  EXPECT_EQ(store.List("").back().count(), 6U);
  EXPECT_EQ(store.newest().count(), 1U);
  EXPECT_EQ(store.newest().first_wall_ns(), store.newest().last_wall_ns());
  // Recorded before the file was read.
  EventStore late(clock);
  late.Record(Event("Pulled", "m"));
  late.Restore(before.List(""));
  EXPECT_EQ(late.List("").back().count(), 6U);
  EXPECT_EQ(late.newest().count(), 1U);
}

TEST(EventStore, IsBoundedAndForgetsAfterAnHour) {
  FakeClock clock;
  EventStore store(clock, {.max_events = 3});
  for (int i = 0; i < 5; ++i) store.Record(Event("Pulled", "m", "u" + std::to_string(i)));
  EXPECT_EQ(store.size(), 3U);
  EXPECT_EQ(store.displaced(), 2U);
  EXPECT_TRUE(store.List("u0").empty());
  clock.Advance(1h + 1s);
  EXPECT_TRUE(store.List("").empty());
  store.Record(Event("Pulled", "m", "u9"));
  EXPECT_EQ(store.size(), 1U);
}

TEST(EventStore, WhatAPeerSaysIsTextAndBounded) {
  FakeClock clock;
  EventStore store(clock);
  auto event = Event("Failed\xFF", "exec \"\xFE\": " + std::string(100'000, 'x'), "u1");
  event.set_name(std::string(100'000, 'n'));
  (*event.mutable_annotations())["starved_resource"] = "\xFE" + std::string(100'000, 'a');
  ASSERT_EQ(store.Record(event), EventStore::Result::kNew);
  const auto kept = store.List("u1");
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].reason(), "Failed\uFFFD");
  EXPECT_TRUE(kept[0].message().starts_with("exec \"\uFFFD\": x"));
  EXPECT_EQ(kept[0].message().size(), 1024U);
  EXPECT_EQ(kept[0].name().size(), 253U);
  EXPECT_EQ(kept[0].annotations().at("starved_resource").size(), 1024U);
  for (int i = 0; i < 17; ++i) (*event.mutable_annotations())[std::to_string(i)] = "many";
  event.set_reason("Other");
  store.Record(event);
  EXPECT_EQ(store.List("u1").back().annotations_size(), 0);
  v1::EventRecord parsed;
  EXPECT_TRUE(parsed.ParseFromString(kept[0].SerializeAsString()));
}

TEST(EventStore, KeepsForItsTimeWhateverTheWallClocksSay) {
  FakeClock clock;
  EventStore store(clock);
  auto late = Event("Pulled", "m", "u1");
  late.set_last_wall_ns(ToNanos(clock.WallNow() - 2h));
  store.Record(late);
  auto early = Event("Pulled", "m", "u2");
  early.set_last_wall_ns(ToNanos(clock.WallNow() + 2h));
  store.Record(early);
  EXPECT_EQ(store.List("").size(), 2U) << "recorders with other wall clocks";
  const WallTime before = clock.WallNow();
  clock.SetWall(before + 48h);
  store.Record(Event("Pulled", "m", "u3"));
  EXPECT_EQ(store.List("").size(), 3U) << "a jump forward";
  clock.SetWall(before - 48h);
  clock.Advance(1h + 1s);
  EXPECT_TRUE(store.List("").empty()) << "a jump back";
}

TEST(NodeConditions, EachChangeGetsAnEventAndEachPressureOne) {
  const struct {
    const char* name;
    std::map<std::string, std::string> recorded;
    std::string type, status;
    bool want;
  } kCases[] = {
      {"a pressure is first known as false", {}, "DiskPressure", "False", true},
      {"a pressure is first known as true", {}, "DiskPressure", "True", true},
      {"a pressure is not known", {}, "DiskPressure", "Unknown", false},
      {"a pressure stays", {{"DiskPressure", "False"}}, "DiskPressure", "False", false},
      {"a pressure rises", {{"DiskPressure", "False"}}, "DiskPressure", "True", true},
      {"a pressure is no longer known",
       {{"DiskPressure", "True"}},
       "DiskPressure",
       "Unknown",
       false},
      {"the first Ready", {}, "Ready", "True", false},
      {"the first not Ready", {}, "Ready", "False", false},
      {"Ready changes", {{"Ready", "False"}}, "Ready", "True", true},
      {"Ready stays", {{"Ready", "True"}}, "Ready", "True", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    v1::NodeCondition condition;
    condition.set_type(c.type);
    condition.set_status(c.status);
    EXPECT_EQ(ConditionsToRecord(c.recorded, {condition}).size(), c.want ? 1U : 0U);
  }
}

}  // namespace
}  // namespace splitlet::status
