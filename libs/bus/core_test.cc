#include <gtest/gtest.h>

#include "libs/bus/table_core.h"
#include "libs/bus/test_desired.h"
#include "libs/bus/typed.h"
#include "libs/bus/view_core.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {
namespace {

Completeness Scopes(std::set<std::string> scopes) {
  Completeness complete;
  complete.scopes = std::move(scopes);
  return complete;
}

/// An owner and a view with everything between them in the hands of the test.
struct Pair {
  FakeClock clock;
  TableCore table{kOwner, {kBoot, 100}};
  std::vector<RawView::Change> told;
  int states = 0;
  ViewCore view{{"desired", kOwner, clock.Now()},
                [this](const RawView::Change& c) { told.push_back(c); },
                [this] { ++states; }};

  Pair() { view.OnConnection(true, clock.Now()); }
  Envelope Put(const std::string& key, const std::string& record) {
    return **table.Put(key, record, "");
  }
  void Deliver(const Envelope& envelope) { view.OnEnvelope(envelope, clock.Now()); }
  Envelope Heartbeat() {
    Envelope heartbeat = table.Heartbeat();
    heartbeat.sent_at = clock.Now();
    return heartbeat;
  }
  ListAnswer Answer(const Since& since) {
    ListAnswer answer = table.List(since);
    answer.sent_at = clock.Now();
    return answer;
  }
  /// Answers what the view wants until it wants nothing; how many lists that took.
  int Settle() {
    int lists = 0;
    while (const auto request = view.NextList(clock.Now())) {
      view.OnListed(request->id, Answer(request->since), clock.Now());
      if (++lists > 10) break;
    }
    return lists;
  }
  std::string Name(const std::string& key) const {
    const auto it = view.records().find(key);
    if (it == view.records().end()) return "absent";
    if (it->second == nullptr) return "unknown";
    v1::DesiredRecord record;
    return record.ParseFromString(*it->second) ? record.name() : "broken";
  }
  void Restart() { table = TableCore(kOwner, {kBoot, clock.Now().monotonic.count()}); }
};

TEST(TableCore, NumbersChangesAndLeavesOutWhatIsNone) {
  TableCore table("p", {kBoot, 1});
  EXPECT_EQ((*table.Put("a", "1", ""))->sequence, 1u);
  EXPECT_FALSE(table.Put("a", "1", "")->has_value());
  EXPECT_EQ((*table.Put("a", "2", ""))->sequence, 2u);
  EXPECT_FALSE(table.Remove("b", "").has_value());
  const auto removal = table.Remove("a", "00-trace");
  ASSERT_TRUE(removal.has_value());
  EXPECT_TRUE(removal->change->removal);
  EXPECT_EQ(removal->change->traceparent, "00-trace");
  EXPECT_EQ(removal->sequence, 3u);
  EXPECT_EQ(table.Heartbeat().sequence, 3u);
  EXPECT_EQ(table.Get("a"), nullptr);
}

TEST(TableCore, RefusesARecordAboveTheLimitAndKeepsTheOldOne) {
  TableCore table("p", {kBoot, 1});
  ASSERT_TRUE(table.Put("a", "old", "").ok());
  EXPECT_EQ(table.Put("a", std::string(kMaxRecordBytes + 1, 'x'), "").status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(*table.Get("a"), "old");
}

TEST(TableCore, ARefusedRecordOfANewKeyLeavesNoTrace) {
  TableCore table("p", {kBoot, 1});
  EXPECT_FALSE(table.Put("a", std::string(kMaxRecordBytes + 1, 'x'), "").ok());
  EXPECT_TRUE(table.Keys().empty());
}

TEST(TableCore, ListsADeltaWhileTheRingReachesBackElseEverything) {
  TableCore table("p", {kBoot, 1});
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(table.Put(key, key, "").ok());
  ASSERT_TRUE(table.Remove("b", "").has_value());
  const struct {
    const char* name;
    Since since;
    bool full;
    size_t changes;
  } kCases[] = {
      {"without a start everything is listed, and what was removed", {}, true, 3},
      {"another start gets everything", {{kBoot, 2}, 3}, true, 3},
      {"a reader of this start gets what changed", {{kBoot, 1}, 2}, false, 2},
      {"a reader that has all gets nothing", {{kBoot, 1}, 4}, false, 0},
      {"a sequence that was never given gets everything", {{kBoot, 1}, 5}, true, 3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto answer = table.List(c.since);
    EXPECT_EQ(answer.full, c.full);
    EXPECT_EQ(answer.changes.size(), c.changes);
    EXPECT_EQ(answer.sequence, 4u);
  }
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(table.Put("a", std::to_string(i), "").ok());
  EXPECT_TRUE(table.List({{kBoot, 1}, 2}).full) << "the ring is bounded";
  EXPECT_EQ(table.List({{kBoot, 1}, 4000}).changes.size(), 1u) << "a key is listed once";
}

TEST(TableCore, ABigRecordIsPublishedWithoutContentAndListedWithIt) {
  TableCore table("p", {kBoot, 1});
  const auto envelope = **table.Put("a", std::string(kMaxPublishedBytes + 1, 'x'), "");
  EXPECT_TRUE(envelope.change->too_large);
  EXPECT_EQ(envelope.change->record, nullptr);
  EXPECT_EQ(table.List({}).changes[0].record->size(), kMaxPublishedBytes + 1);
}

TEST(TableCore, SayingCompleteAgainIsNoNews) {
  TableCore table("p", {kBoot, 1});
  EXPECT_TRUE(table.SetComplete(Scopes({"all"})).has_value());
  EXPECT_FALSE(table.SetComplete(Scopes({"all"})).has_value());
  EXPECT_EQ(table.SetComplete({})->promise.version, 2u);
}

TEST(ViewCore, ListsOnceThenFollowsTheMessages) {
  Pair p;
  p.Deliver(p.Put("a", Desired("file", "1")));
  EXPECT_EQ(p.view.state(), ViewState::kSyncing);
  EXPECT_FALSE(p.view.was_live());
  EXPECT_FALSE(p.view.owner_start());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.state(), ViewState::kLive);
  p.Deliver(p.Put("a", Desired("file", "2")));
  p.Deliver(p.Put("b", Desired("file", "3")));
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.Settle(), 0);
  EXPECT_EQ(p.Name("a"), "2");
  ASSERT_EQ(p.told.size(), 3u);
  EXPECT_TRUE(p.told[1].present_before);
  EXPECT_EQ(*p.told[1].before, Desired("file", "1"));
  p.Deliver(*p.table.Remove("a", ""));
  EXPECT_EQ(p.Name("a"), "absent");
  EXPECT_FALSE(p.told.back().present_after);
}

TEST(ViewCore, MessagesDuringTheFirstListAreNotLost) {
  Pair p;
  const auto request = p.view.NextList(p.clock.Now());
  const auto answer = p.Answer(request->since);
  p.Deliver(p.Put("a", Desired("file", "1")));
  p.view.OnListed(request->id, answer, p.clock.Now());
  EXPECT_EQ(p.Name("a"), "1");
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, AMissingMessageIsRepairedByADelta) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "lost"));
  p.Deliver(p.Put("b", Desired("file", "2")));
  EXPECT_EQ(p.Name("b"), "absent") << "not applied out of turn";
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "lost");
  EXPECT_EQ(p.view.counts().gaps, 1u);
  EXPECT_EQ(p.view.counts().delta_lists, 1u);
}

TEST(ViewCore, TheLastMessageLostShowsInTheBeat) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "lost"));
  EXPECT_EQ(p.Settle(), 0);
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "lost");
}

TEST(ViewCore, OutOfOrderAndDoubledMessagesEndInOrder) {
  Pair p;
  p.Settle();
  const auto first = p.Put("a", Desired("file", "1"));
  const auto second = p.Put("a", Desired("file", "2"));
  p.Deliver(second);
  p.Deliver(first);
  EXPECT_EQ(p.Name("a"), "2");
  p.Deliver(first);
  EXPECT_EQ(p.Name("a"), "2");
  EXPECT_EQ(p.view.counts().duplicates, 1u);
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, ARecordWithoutContentIsListed) {
  Pair p;
  p.Settle();
  p.Deliver(p.Put("a", Desired("file", std::string(kMaxPublishedBytes, 'x'))));
  EXPECT_EQ(p.Name("a"), "absent");
  p.Deliver(p.Put("b", Desired("file", "2")));
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a").size(), kMaxPublishedBytes);
  EXPECT_EQ(p.Name("b"), "2");
}

TEST(ViewCore, AListOfADeadStartIsDropped) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "1"));
  p.Deliver(p.Heartbeat());
  const auto request = p.view.NextList(p.clock.Now());
  const auto of_dead = p.Answer(request->since);
  p.Restart();
  p.Deliver(p.Heartbeat());
  p.view.OnListed(request->id, of_dead, p.clock.Now());
  EXPECT_EQ(p.Name("a"), "absent");
  EXPECT_EQ(p.view.state(), ViewState::kSyncing);
  p.clock.Advance(1s);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.state(), ViewState::kLive);
}

TEST(ViewCore, ChangesOfANewStartWaitForItsListAlsoWhenAListFails) {
  Pair p;
  p.Put("a", Desired("file", "old"));
  p.Put("b", Desired("file", "old"));
  p.Settle();
  p.Restart();
  for (int i = 0; i < 3; ++i) p.Deliver(p.Put("a", Desired("file", std::to_string(i))));
  const auto request = p.view.NextList(p.clock.Now());
  ASSERT_TRUE(request.has_value());
  p.view.OnListFailed(request->id, p.clock.Now());
  EXPECT_EQ(p.Name("a"), "old")
      << "the third change of this start is not the third of the one before";
  p.clock.Advance(kPollPeriod);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "2");
}

TEST(ViewCore, ANumberThatWasNeverGivenIsAskedForOnceAndForgotten) {
  for (const bool heartbeat : {true, false}) {
    SCOPED_TRACE(heartbeat ? "in a heartbeat" : "in a change");
    Pair p;
    p.Deliver(p.Put("a", Desired("file", "1")));
    p.Settle();
    auto wrong = heartbeat ? p.Heartbeat() : p.Put("wrong", Desired("file", "1"));
    wrong.sequence = heartbeat ? UINT64_MAX : 5;
    p.Deliver(wrong);
    EXPECT_EQ(p.Settle(), 1) << "the owner is asked, once";
    EXPECT_EQ(p.view.counts().obsolete, 1u);
    EXPECT_EQ(p.view.state(), ViewState::kLive);
    for (int i = 0; i < 5; ++i) p.Deliver(p.Put("b", Desired("file", std::to_string(i))));
    EXPECT_EQ(p.Name("b"), "4") << "what the owner gives later is not taken for known";
    EXPECT_EQ(p.Settle(), 0);
  }
}

TEST(ViewCore, AnOwnerThatGoesOnTellingWrongNumbersIsAskedTwiceASecondAtMost) {
  Pair p;
  p.Settle();
  int lists = 0;
  for (int i = 0; i < 1000; ++i) {
    auto wrong = p.Heartbeat();
    wrong.sequence = 1'000'000 + static_cast<uint64_t>(i);
    p.Deliver(wrong);
    lists += p.Settle();
    p.clock.Advance(10ms);
  }
  EXPECT_GE(lists, 15);
  EXPECT_LE(lists, 21) << "in ten seconds";
  EXPECT_EQ(p.view.state(), ViewState::kLive);
}

TEST(ViewCore, AStartThatHasNotBeenYetBlindsNobody) {
  for (const int64_t ns : {INT64_MAX, int64_t{60'000'000'000'000'000}}) {
    Pair p;
    p.Settle();
    auto heartbeat = p.Heartbeat();
    heartbeat.start.ns = ns;
    p.Deliver(heartbeat);
    auto change = p.Put("a", Desired("file", "forged"));
    change.start.ns = ns;
    p.Deliver(change);
    EXPECT_EQ(p.view.counts().impossible, 2u);
    EXPECT_EQ(p.view.state(), ViewState::kLive) << "it waits for no list of that start";
    p.Put("a", Desired("file", "true"));
    p.Deliver(p.Heartbeat());
    p.Settle();
    EXPECT_EQ(p.Name("a"), "true") << "and the owner is heard as before";

    p.view.OnConnection(true, p.clock.Now());
    const auto request = p.view.NextList(p.clock.Now());
    ASSERT_TRUE(request.has_value());
    auto answer = p.Answer({});
    answer.start.ns = ns;
    p.view.OnListed(request->id, answer, p.clock.Now());
    EXPECT_EQ(p.view.counts().impossible, 3u) << "no list may say so either";
    p.clock.Advance(kPollPeriod);
    p.Settle();
    EXPECT_EQ(p.view.state(), ViewState::kLive);
    EXPECT_EQ(p.Name("a"), "true");
  }
}

TEST(ViewCore, AnOwnerThatHasJustStartedIsNoneOfThem) {
  Pair p;
  p.Settle();
  p.clock.Advance(1ms);
  p.Restart();
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.counts().impossible, 0u);
}

TEST(ViewCore, ANumberHeardDuringAListIsNoWrongOne) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "lost"));
  p.Deliver(p.Heartbeat());
  const auto request = p.view.NextList(p.clock.Now());
  const auto answer = p.Answer(request->since);
  p.Put("b", Desired("file", "lost too"));
  p.Deliver(p.Heartbeat());
  p.view.OnListed(request->id, answer, p.clock.Now());
  EXPECT_EQ(p.view.counts().obsolete, 0u);
  EXPECT_EQ(p.Settle(), 1) << "immediately";
  EXPECT_EQ(p.Name("b"), "lost too");
}

TEST(ViewCore, WhatComesFromElsewhereIsDropped) {
  Pair p;
  p.Settle();
  auto foreign = p.Put("a", Desired("file", "1"));
  foreign.producer = "pleg";
  p.Deliver(foreign);
  auto other_boot = p.Put("b", Desired("file", "1"));
  other_boot.start = {kBoot + 1, 1'000'000'000'000'000};
  p.Deliver(other_boot);
  auto older = p.Put("c", Desired("file", "1"));
  older.start.ns = 1;
  p.Deliver(older);
  EXPECT_EQ(p.Settle(), 0);
  EXPECT_TRUE(p.view.records().empty());
  EXPECT_EQ(p.view.counts().foreign, 1u);
  EXPECT_EQ(p.view.counts().obsolete, 2u);
}

TEST(ViewCore, ALateAnswerToAnEarlierRequestIsIgnored) {
  Pair p;
  const auto request = p.view.NextList(p.clock.Now());
  const auto answer = p.Answer(request->since);
  p.view.OnListFailed(request->id, p.clock.Now());
  EXPECT_FALSE(p.view.NextList(p.clock.Now()).has_value()) << "not again immediately";
  p.view.OnListed(request->id, answer, p.clock.Now());
  EXPECT_EQ(p.view.state(), ViewState::kSyncing);
  p.clock.Advance(kPollPeriod);
  EXPECT_EQ(p.Settle(), 1);
}

TEST(ViewCore, OnlyCompleteScopesAreSwept) {
  Pair p;
  p.Put("f", Desired("file", "1"));
  p.Put("h", Desired("http", "1"));
  p.Settle();
  p.Restart();
  ASSERT_TRUE(p.table.SetComplete(Scopes({"file"})).has_value());
  p.Deliver(p.Heartbeat());
  EXPECT_FALSE(p.view.IsComplete("file")) << "not before the list of this start";
  p.Settle();
  EXPECT_EQ(p.Name("f"), "absent");
  EXPECT_EQ(p.Name("h"), "1") << "http is not complete";
  EXPECT_TRUE(p.view.IsComplete("file"));
  EXPECT_FALSE(p.view.IsComplete("http"));
}

/// The first list of a start comes after the start has removed a key; its scope is not complete.
TEST(ViewCore, ARemovalBeforeTheFirstListOfAStartCountsInAnIncompleteScope) {
  Pair p;
  p.Put("gone", Desired("file", "1"));
  p.Put("unread", Desired("file", "1"));
  p.Put("back", Desired("file", "1"));
  p.Settle();
  p.Restart();
  p.Put("gone", Desired("file", "1"));
  ASSERT_TRUE(p.table.Remove("gone", "").has_value());
  p.Put("back", Desired("file", "1"));
  ASSERT_TRUE(p.table.Remove("back", "").has_value());
  p.Put("back", Desired("file", "2"));
  p.Deliver(p.Heartbeat());
  p.Settle();
  EXPECT_EQ(p.Name("gone"), "absent");
  EXPECT_EQ(p.Name("back"), "2");
  EXPECT_EQ(p.Name("unread"), "1") << "the owner has not read what it knows of it";
}

TEST(ViewCore, ACompleteAfterAListThatCouldNotSweepListsInFullAgain) {
  Pair p;
  p.Put("f", Desired("file", "1"));
  p.Settle();
  p.Restart();
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("f"), "1")
      << "an owner that has just started says nothing of what it has not read";
  p.Deliver(*p.table.SetComplete(Scopes({"file"})));
  EXPECT_FALSE(p.view.IsComplete("file"));
  EXPECT_EQ(p.Name("f"), "1");
  const auto request = p.view.NextList(p.clock.Now());
  ASSERT_TRUE(request.has_value());
  EXPECT_FALSE(request->since.start) << "only a full list sweeps";
  p.view.OnListed(request->id, p.Answer(request->since), p.clock.Now());
  EXPECT_EQ(p.Name("f"), "absent");
  EXPECT_TRUE(p.view.IsComplete("file"));
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, AFreshViewNeedsNoSecondListToBelieveComplete) {
  Pair p;
  p.Put("f", Desired("file", "1"));
  p.Settle();
  p.Deliver(*p.table.SetComplete(Scopes({"file"})));
  EXPECT_TRUE(p.view.IsComplete("file"));
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, AllCoversEveryScope) {
  Pair p;
  p.Put("f", Desired("file", "1"));
  p.Settle();
  p.Restart();
  ASSERT_TRUE(p.table.SetComplete(Scopes({"all"})).has_value());
  p.Deliver(p.Heartbeat());
  p.Settle();
  EXPECT_TRUE(p.view.records().empty());
  EXPECT_TRUE(p.view.IsComplete("http"));
}

TEST(ViewCore, CompleteCountsOnlyAtASequenceThatIsApplied) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "lost"));
  ASSERT_TRUE(p.table.SetComplete(Scopes({"file"})).has_value());
  p.Deliver(p.Heartbeat());
  EXPECT_FALSE(p.view.IsComplete("file"));
  p.Settle();
  EXPECT_TRUE(p.view.IsComplete("file"));
  EXPECT_EQ(p.Name("a"), "lost");
}

TEST(ViewCore, ABeatAheadOfItsChangesCountsWhenTheyCome) {
  Pair p;
  p.Settle();
  const auto change = p.Put("a", Desired("file", "1"));
  p.Deliver(*p.table.SetComplete(Scopes({"file"})));
  EXPECT_FALSE(p.view.IsComplete("file"));
  p.Deliver(change);
  EXPECT_TRUE(p.view.IsComplete("file"));
}

TEST(ViewCore, TakenBackCountsAtOnceAndAnOldPromiseNever) {
  Pair p;
  p.Settle();
  const auto promise = *p.table.SetComplete(Scopes({"file"}));
  p.Deliver(promise);
  EXPECT_TRUE(p.view.IsComplete("file"));
  p.Put("a", Desired("file", "lost"));
  p.Deliver(*p.table.SetComplete({}));
  EXPECT_FALSE(p.view.IsComplete("file")) << "although its change is missing";
  p.Settle();
  p.Deliver(promise);
  EXPECT_FALSE(p.view.IsComplete("file")) << "an old heartbeat that comes late";
}

TEST(ViewCore, PollsTwiceASecondWithoutBeatsAndStopsWithTheNext) {
  Pair p;
  p.Settle();
  p.Deliver(p.Heartbeat());
  int lists = 0;
  for (int i = 0; i < 4 * 10; ++i) {
    p.clock.Advance(kPollPeriod / 2);
    lists += p.Settle();
  }
  EXPECT_EQ(lists, 18) << "twice a second from 1.5 s on";
  EXPECT_EQ(p.view.state(), ViewState::kLive) << "an answer is a sign of life";
  p.Put("a", Desired("file", "1"));
  p.clock.Advance(kPollPeriod);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "1");
  p.Deliver(p.Heartbeat());
  p.clock.Advance(1s);
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, IsStaleAfterThreeSecondsOfSilenceAndKeepsItsContent) {
  Pair p;
  p.Put("a", Desired("file", "1"));
  p.Settle();
  p.Deliver(p.Heartbeat());
  const auto heard = p.clock.Now();
  for (int i = 0; i < 12; ++i) {
    p.clock.Advance(kPollPeriod / 2);
    if (const auto request = p.view.NextList(p.clock.Now()))
      p.view.OnListFailed(request->id, p.clock.Now());
  }
  EXPECT_EQ(p.view.state(), ViewState::kStale);
  EXPECT_EQ(p.view.stale_since(), heard);
  EXPECT_EQ(p.Name("a"), "1");
  EXPECT_TRUE(p.view.was_live());
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.view.state(), ViewState::kLive);
}

TEST(ViewCore, TheStartIsThatOfTheContent) {
  Pair p;
  p.Put("a", Desired("file", "1"));
  p.Settle();
  const Clock::Time first{.boot = kBoot, .monotonic = Duration{100}};
  EXPECT_EQ(p.view.owner_start(), first);
  p.clock.Advance(1s);
  const Clock::Time second = {.boot = kBoot, .monotonic = p.clock.Now().monotonic};
  p.Restart();
  p.Put("a", Desired("file", "2"));
  p.Deliver(p.Heartbeat());
  EXPECT_EQ(p.view.owner_start(), first) << "its list has not come";
  p.Settle();
  EXPECT_EQ(p.Name("a"), "2");
  EXPECT_EQ(p.view.owner_start(), second);
}

TEST(ViewCore, BeatsThatLayInAQueueAreNoSignOfLife) {
  Pair p;
  p.Settle();
  const auto old_heartbeat = p.Heartbeat();
  p.clock.Advance(10s);
  p.Deliver(old_heartbeat);
  EXPECT_EQ(p.view.state(), ViewState::kStale);
}

TEST(ViewCore, AReconnectListsWhatMayHaveBeenMissed) {
  Pair p;
  p.Settle();
  p.Deliver(p.Heartbeat());
  p.view.OnConnection(false, p.clock.Now());
  p.Put("a", Desired("file", "1"));
  p.view.OnConnection(true, p.clock.Now());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "1");
  EXPECT_EQ(p.view.counts().delta_lists, 1u);
}

TEST(ViewCore, AReconnectDuringAListAsksForAnother) {
  Pair p;
  const auto request = p.view.NextList(p.clock.Now());
  const auto answer = p.Answer(request->since);
  p.Put("a", Desired("file", "1"));
  p.view.OnConnection(true, p.clock.Now());
  p.view.OnListed(request->id, answer, p.clock.Now());
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "1");
}

TEST(ViewCore, ARecordOfAHigherSchemaIsPresentAndUnknown) {
  Pair p;
  p.Settle();
  auto envelope = p.Put("a", Desired("file", "1"));
  envelope.change->schema = kSchema + 1;
  p.Deliver(envelope);
  EXPECT_EQ(p.Name("a"), "unknown");
  EXPECT_EQ(p.view.counts().unknown, 1u);
  ASSERT_EQ(p.told.size(), 1u);
  EXPECT_TRUE(p.told[0].present_after);
}

TEST(ViewCore, MoreMessagesThanCanBeHeldEndInAList) {
  Pair p;
  p.Settle();
  p.Put("lost", Desired("file", "1"));
  for (int i = 0; i < 6000; ++i) p.Deliver(p.Put(std::to_string(i), Desired("file", "1")));
  EXPECT_GT(p.view.counts().overflows, 0u);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.records().size(), 6001u);
}

TEST(Names, OfSubjectsOwnersAndKeys) {
  EXPECT_EQ(Subject("node", "desired").substr(0, 9), "splitlet.");
  EXPECT_NE(Subject("a", "desired"), Subject("b", "desired"));
  EXPECT_EQ(OwnerOf("runtime"), "pleg");
  EXPECT_EQ(OwnerOf("nonsense"), "");
  EXPECT_EQ(KeyOf("0f2c-AB"), "0f2c-AB");
  EXPECT_EQ(KeyOf("a.b").size(), 16u);
  EXPECT_EQ(KeyOf("").size(), 16u);
  EXPECT_EQ(KeyOf(std::string(65, 'a')).size(), 16u);
}

TEST(Names, EqualMessagesHaveEqualBytes) {
  v1::NodeRecord a, b;
  for (int i = 0; i < 50; ++i) (*a.mutable_labels())[std::to_string(i)] = "x";
  for (int i = 49; i >= 0; --i) (*b.mutable_labels())[std::to_string(i)] = "x";
  EXPECT_EQ(SerializeSorted(a), SerializeSorted(b));
}

}  // namespace
}  // namespace splitlet::bus
