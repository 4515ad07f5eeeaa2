#include "services/status/api/events/event_sink.h"

#include <gmock/gmock.h>

#include "libs/exec/fake_exec.h"
#include "libs/fake_api/api_server.h"
#include "services/status/events/event_store.h"

namespace splitlet::status {
namespace {

const std::string kEvents = "/api/v1/namespaces/default/events";

class EventSinkTest : public ::testing::Test {
 protected:
  EventSinkTest() { Start({}); }
  void Start(EventSink::Options options) {
    sink = std::make_unique<EventSink>(
        EventSink::Deps{
            .env =
                {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
            .client =
                std::make_shared<apiclient::Client>(clock, server, apiclient::Client::Options{}),
            .node_name = "node-a",
            .pod_version = [](const std::string& uid) { return uid + "-version"; },
            .metrics = metrics},
        options);
  }
  static v1::EventRecord Make(const std::string& reason, const std::string& message = "text") {
    v1::EventRecord event;
    event.set_type("Normal");
    event.set_reason(reason);
    event.set_message(message);
    event.set_component("pod-worker");
    event.set_kind("Pod");
    event.set_namespace_("default");
    event.set_name("web");
    event.set_uid("u1");
    return event;
  }
  /// As StatusService does with what the store takes.
  void Record(v1::EventRecord event) {
    const auto result = store->Record(std::move(event));
    if (result == EventStore::Result::kSpam) return;
    sink->OnEvent(store->newest_key(), store->newest(), result == EventStore::Result::kNew);
  }
  std::vector<core::Event> AtServer(const std::string& path = kEvents) {
    std::vector<core::Event> events;
    for (const auto& one : server.List(path)) {
      core::Event event;
      EXPECT_TRUE(server.Get(one, event));
      events.push_back(event);
    }
    return events;
  }
  size_t Calls() { return server.TakeSeen().size(); }

  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  fake_api::FakeApiServer server{clock};
  FakeLogSink log_sink;
  const Log log{log_sink};
  prometheus::Registry registry;
  PodApiMetrics metrics{registry};
  std::unique_ptr<EventStore> store = std::make_unique<EventStore>(clock);
  std::unique_ptr<EventSink> sink;
};

TEST_F(EventSinkTest, AnEventOfAContainerIsAKubelets) {
  auto event = Make("Started", "Container started");
  event.set_field_path("spec.containers{a}");
  (*event.mutable_annotations())["starved_resource"] = "memory";
  Record(event);
  loop.RunUntilIdle();
  const auto events = AtServer();
  ASSERT_EQ(events.size(), 1U);
  const auto& sent = events[0];
  EXPECT_EQ(sent.metadata().name(), fmt::format("web.{:x}", ToNanos(clock.WallNow())));
  EXPECT_EQ(sent.metadata().annotations().at("starved_resource"), "memory");
  EXPECT_EQ(sent.involved_object().kind(), "Pod");
  EXPECT_EQ(sent.involved_object().api_version(), "v1");
  EXPECT_EQ(sent.involved_object().namespace_(), "default");
  EXPECT_EQ(sent.involved_object().name(), "web");
  EXPECT_EQ(sent.involved_object().uid(), "u1");
  EXPECT_EQ(sent.involved_object().resource_version(), "u1-version");
  EXPECT_EQ(sent.involved_object().field_path(), "spec.containers{a}");
  EXPECT_EQ(sent.source().component(), "kubelet");
  EXPECT_EQ(sent.source().host(), "node-a");
  EXPECT_EQ(sent.reporting_component(), "kubelet");
  EXPECT_EQ(sent.reporting_instance(), "node-a");
  EXPECT_EQ(sent.type() + " " + sent.reason() + " " + sent.message(),
            "Normal Started Container started");
  EXPECT_EQ(sent.count(), 1);
  EXPECT_EQ(sent.first_timestamp().seconds(), ToNanos(clock.WallNow()) / 1'000'000'000);
}

TEST_F(EventSinkTest, AnEventOfTheNodeIsInDefaultWithItsNameAsUid) {
  auto event = Make("NodeReady");
  event.set_kind("Node");
  event.set_namespace_("");
  event.set_name("node-a");
  event.set_uid("something");
  Record(event);
  loop.RunUntilIdle();
  const auto events = AtServer();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].involved_object().uid(), "node-a");
  EXPECT_EQ(events[0].involved_object().namespace_(), "");
  EXPECT_EQ(events[0].involved_object().resource_version(), "");
}

TEST_F(EventSinkTest, TheSameEventTwiceIsOneThatIsCounted) {
  Record(Make("BackOff"));
  loop.RunUntilIdle();
  loop.Advance(30s);
  Record(Make("BackOff"));
  loop.RunUntilIdle();
  const auto events = AtServer();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].count(), 2);
  EXPECT_EQ(events[0].last_timestamp().seconds() - events[0].first_timestamp().seconds(), 30);
  const auto seen = server.TakeSeen();
  EXPECT_EQ(seen.back().method, "PATCH");
  server.Remove(kEvents + "/" + events[0].metadata().name());
  Record(Make("BackOff"));
  loop.RunUntilIdle();
  ASSERT_EQ(AtServer().size(), 1U) << "the server had forgotten it";
  EXPECT_EQ(AtServer()[0].count(), 3);
}

TEST_F(EventSinkTest, WhatIsRecordedAtOnceHasNamesOfItsOwn) {
  for (const char* reason : {"Pulling", "Pulled", "Created", "Started"}) Record(Make(reason));
  loop.RunUntilIdle();
  EXPECT_EQ(AtServer().size(), 4U);
}

TEST_F(EventSinkTest, ManySimilarOnesAreOne) {
  for (int i = 0; i < 12; ++i) Record(Make("Failed", std::to_string(i)));
  loop.RunUntilIdle();
  const auto events = AtServer();
  ASSERT_EQ(events.size(), 10U);
  int combined = 0;
  for (const auto& event : events) {
    if (event.message() != "(combined from similar events): 11") continue;
    ++combined;
    EXPECT_EQ(event.count(), 3);
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(EventSinkTest, AfterTooManyTheNextOneHasTheWholeCount) {
  for (int i = 0; i < 200; ++i) Record(Make("BackOff"));
  Record(Make("Failed"));
  loop.RunUntilIdle();
  ASSERT_EQ(AtServer().size(), 1U);
  EXPECT_EQ(AtServer()[0].count(), 25);
  clock.Advance(301s);
  Record(Make("BackOff"));
  clock.Advance(301s);
  Record(Make("Failed"));
  loop.RunUntilIdle();
  const auto events = AtServer();
  ASSERT_EQ(events.size(), 2U);
  for (const auto& event : events) EXPECT_EQ(event.count(), event.reason() == "BackOff" ? 201 : 2);
}

TEST_F(EventSinkTest, ARefusedOneIsDroppedAndTheOthersAreSent) {
  server.Inject({.method = "POST", .prefix = kEvents, .times = 1, .code = 403});
  Record(Make("First"));
  Record(Make("Second"));
  loop.RunUntilIdle();
  ASSERT_EQ(AtServer().size(), 1U);
  EXPECT_EQ(AtServer()[0].reason(), "Second");
  EXPECT_EQ(sink->waiting(), 0U);
  EXPECT_EQ(log_sink.lines().size(), 1U);
  EXPECT_EQ(metrics.events_sent.Add({{"result", "refused"}}).Value(), 1);
}

TEST_F(EventSinkTest, NoneIsDroppedOrSentByTheWordOfSomethingInFrontOfTheServer) {
  for (const int code : {403, 404, 409, 422, 200})
    server.Inject({.method = "POST",
                   .prefix = kEvents,
                   .times = 1,
                   .code = code,
                   .body = "<html>sign in</html>"});
  Record(Make("First"));
  loop.RunUntilIdle();
  EXPECT_EQ(sink->waiting(), 1U);
  loop.Advance(60s);
  EXPECT_EQ(AtServer().size(), 1U);
  EXPECT_EQ(sink->waiting(), 0U);
  EXPECT_EQ(metrics.events_sent.Add({{"result", "refused"}}).Value(), 0);
}

TEST_F(EventSinkTest, OneThatCannotBeSentHoldsUpNoOther) {
  server.Inject({.method = "POST", .prefix = "/api/v1/namespaces/bad", .code = 500});
  auto bad = Make("Bad");
  bad.set_namespace_("bad");
  Record(bad);
  Record(Make("Good"));
  loop.RunUntilIdle();
  EXPECT_EQ(AtServer().size(), 1U);
  EXPECT_EQ(sink->waiting(), 1U);
  loop.Advance(130s);
  EXPECT_EQ(sink->waiting(), 0U) << "after twelve attempts";
  EXPECT_EQ(metrics.events_sent.Add({{"result", "dropped"}}).Value(), 1);
}

TEST_F(EventSinkTest, WhileTheServerIsAwayTheyWaitForTwoMinutes) {
  server.SetAway(true);
  for (int i = 0; i < 5; ++i) Record(Make(fmt::format("Reason{}", i)));
  loop.Advance(60s);
  EXPECT_EQ(sink->waiting(), 5U);
  EXPECT_LT(Calls(), 20U);
  server.SetAway(false);
  loop.Advance(12s);
  EXPECT_EQ(AtServer().size(), 5U);
  server.SetAway(true);
  for (int i = 5; i < 9; ++i) Record(Make(fmt::format("Reason{}", i)));
  loop.Advance(150s);
  EXPECT_EQ(sink->waiting(), 0U);
  EXPECT_EQ(metrics.events_sent.Add({{"result", "dropped"}}).Value(), 4);
  server.SetAway(false);
  loop.Advance(60s);
  EXPECT_EQ(AtServer().size(), 5U);
}

TEST_F(EventSinkTest, TheOldestGoesWhenTooManyWait) {
  Start({.max_waiting = 3});
  server.SetAway(true);
  for (int i = 0; i < 5; ++i) Record(Make(fmt::format("Reason{}", i)));
  EXPECT_EQ(sink->waiting(), 3U);
  server.SetAway(false);
  loop.Advance(12s);
  ASSERT_EQ(AtServer().size(), 3U);
  EXPECT_EQ(AtServer()[0].reason(), "Reason2");
}

TEST_F(EventSinkTest, ALostAnswerMakesNoSecondOne) {
  server.Inject({.method = "POST", .prefix = kEvents, .times = 1, .after_effect = true});
  Record(Make("Started"));
  loop.RunUntilIdle();
  Record(Make("Started"));
  loop.Advance(12s);
  ASSERT_EQ(AtServer().size(), 1U);
  EXPECT_EQ(AtServer()[0].count(), 2);
}

TEST_F(EventSinkTest, AfterAStartWhatComesAgainIsAnotherAndNothingIsSentTwice) {
  Record(Make("Started"));
  loop.RunUntilIdle();
  store = std::make_unique<EventStore>(clock);
  Start({});
  loop.Advance(60s);
  EXPECT_EQ(AtServer().size(), 1U);
  Record(Make("Started"));
  loop.RunUntilIdle();
  EXPECT_EQ(AtServer().size(), 2U);
}

TEST_F(EventSinkTest, ANameThatIsTooLongIsReplaced) {
  auto event = Make("Started");
  event.set_name(std::string(250, 'a'));
  Record(event);
  loop.RunUntilIdle();
  ASSERT_EQ(AtServer().size(), 1U);
  EXPECT_LE(AtServer()[0].metadata().name().size(), 253U);
}

}  // namespace
}  // namespace splitlet::status
