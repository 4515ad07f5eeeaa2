#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "libs/base/random.h"
#include "libs/bus/scope.h"
#include "libs/bus/table_core.h"
#include "libs/bus/typed.h"
#include "libs/bus/view_core.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {
namespace {

constexpr uint64_t kBoot = 1;
const std::string kOwner = "config-source";

std::string Desired(const std::string& source, const std::string& name) {
  v1::DesiredRecord record;
  record.set_source(source);
  record.set_name(name);
  return record.SerializeAsString();
}

Completeness Scopes(std::set<std::string> scopes) {
  Completeness complete;
  complete.scopes = std::move(scopes);
  return complete;
}

/// One owner and one view with everything between them in the hands of the test.
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
  Envelope Beat() {
    Envelope beat = table.Beat();
    beat.sent_at = clock.Now();
    return beat;
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
  EXPECT_FALSE(table.Remove("b").has_value());
  const auto removal = table.Remove("a");
  ASSERT_TRUE(removal.has_value());
  EXPECT_TRUE(removal->change->removal);
  EXPECT_EQ(removal->sequence, 3u);
  EXPECT_EQ(table.Beat().sequence, 3u);
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
  ASSERT_TRUE(table.Remove("b").has_value());
  const struct {
    const char* name;
    Since since;
    bool full;
    size_t changes;
  } kCases[] = {
      {"without a start everything is listed", {}, true, 2},
      {"another start gets everything", {{kBoot, 2}, 3}, true, 2},
      {"a reader of this start gets what changed", {{kBoot, 1}, 2}, false, 2},
      {"a reader that has all gets nothing", {{kBoot, 1}, 4}, false, 0},
      {"a sequence that was never given gets everything", {{kBoot, 1}, 5}, true, 2},
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
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.state(), ViewState::kLive);
  p.Deliver(p.Put("a", Desired("file", "2")));
  p.Deliver(p.Put("b", Desired("file", "3")));
  p.Deliver(p.Beat());
  EXPECT_EQ(p.Settle(), 0);
  EXPECT_EQ(p.Name("a"), "2");
  ASSERT_EQ(p.told.size(), 3u);
  EXPECT_TRUE(p.told[1].present_before);
  EXPECT_EQ(*p.told[1].before, Desired("file", "1"));
  p.Deliver(*p.table.Remove("a"));
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
  p.Deliver(p.Beat());
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
  p.Deliver(p.Beat());
  const auto request = p.view.NextList(p.clock.Now());
  const auto of_dead = p.Answer(request->since);
  p.Restart();
  p.Deliver(p.Beat());
  p.view.OnListed(request->id, of_dead, p.clock.Now());
  EXPECT_EQ(p.Name("a"), "absent");
  EXPECT_EQ(p.view.state(), ViewState::kSyncing);
  p.clock.Advance(1s);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.view.state(), ViewState::kLive);
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
  EXPECT_FALSE(p.view.NextList(p.clock.Now()).has_value()) << "not at once again";
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
  p.Deliver(p.Beat());
  EXPECT_FALSE(p.view.IsComplete("file")) << "not before the list of this start";
  p.Settle();
  EXPECT_EQ(p.Name("f"), "absent");
  EXPECT_EQ(p.Name("h"), "1") << "http is not complete";
  EXPECT_TRUE(p.view.IsComplete("file"));
  EXPECT_FALSE(p.view.IsComplete("http"));
}

TEST(ViewCore, ACompleteAfterAListThatCouldNotSweepListsInFullAgain) {
  Pair p;
  p.Put("f", Desired("file", "1"));
  p.Settle();
  p.Restart();
  p.Deliver(p.Beat());
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
  p.Deliver(p.Beat());
  p.Settle();
  EXPECT_TRUE(p.view.records().empty());
  EXPECT_TRUE(p.view.IsComplete("http"));
}

TEST(ViewCore, CompleteCountsOnlyAtASequenceThatIsApplied) {
  Pair p;
  p.Settle();
  p.Put("a", Desired("file", "lost"));
  ASSERT_TRUE(p.table.SetComplete(Scopes({"file"})).has_value());
  p.Deliver(p.Beat());
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
  EXPECT_FALSE(p.view.IsComplete("file")) << "an old beat that comes late";
}

TEST(ViewCore, PollsTwiceASecondWithoutBeatsAndStopsWithTheNext) {
  Pair p;
  p.Settle();
  p.Deliver(p.Beat());
  int lists = 0;
  for (int i = 0; i < 4 * 10; ++i) {
    p.clock.Advance(kTickPeriod);
    lists += p.Settle();
  }
  EXPECT_EQ(lists, 18) << "twice a second from 1.5 s on";
  EXPECT_EQ(p.view.state(), ViewState::kLive) << "an answer is a sign of life";
  p.Put("a", Desired("file", "1"));
  p.clock.Advance(kPollPeriod);
  EXPECT_EQ(p.Settle(), 1);
  EXPECT_EQ(p.Name("a"), "1");
  p.Deliver(p.Beat());
  p.clock.Advance(1s);
  EXPECT_EQ(p.Settle(), 0);
}

TEST(ViewCore, IsStaleAfterThreeSecondsOfSilenceAndKeepsItsContent) {
  Pair p;
  p.Put("a", Desired("file", "1"));
  p.Settle();
  p.Deliver(p.Beat());
  const auto heard = p.clock.Now();
  for (int i = 0; i < 12; ++i) {
    p.clock.Advance(kTickPeriod);
    if (const auto request = p.view.NextList(p.clock.Now()))
      p.view.OnListFailed(request->id, p.clock.Now());
  }
  EXPECT_EQ(p.view.state(), ViewState::kStale);
  EXPECT_EQ(p.view.stale_since(), heard);
  EXPECT_EQ(p.Name("a"), "1");
  EXPECT_TRUE(p.view.was_live());
  p.Deliver(p.Beat());
  EXPECT_EQ(p.view.state(), ViewState::kLive);
}

TEST(ViewCore, BeatsThatLayInAQueueAreNoSignOfLife) {
  Pair p;
  p.Settle();
  const auto old_beat = p.Beat();
  p.clock.Advance(10s);
  p.Deliver(old_beat);
  EXPECT_EQ(p.view.state(), ViewState::kStale);
}

TEST(ViewCore, AReconnectListsWhatMayHaveBeenMissed) {
  Pair p;
  p.Settle();
  p.Deliver(p.Beat());
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

/// A world of pods that an owner reads, forgets when it restarts, and reads again; and a line to a
/// view on which anything can happen.
class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed) { Reconnect(); }

  void Step() {
    Advance(Duration{static_cast<int64_t>(random_.Below(400)) * 1'000'000});
    switch (random_.Below(16)) {
      case 0:
      case 1:
      case 2: ChangeWorld(); break;
      case 3:
      case 4: ReadSource(random_.Below(2) == 0 ? "file" : "http"); break;
      case 5: Send(Beat()); break;
      case 6:
      case 7:
      case 8:
      case 9: DeliverOne(); break;
      case 10:
      case 11: Pump(); break;
      case 12: FinishList(random_.Below(4) != 0); break;
      case 13:
        if (random_.Below(4) == 0) RestartOwner();
        break;
      case 14:
        if (random_.Below(4) == 0) Withdraw();
        break;
      default:
        if (random_.Below(4) == 0) Reconnect();
        break;
    }
    Check();
  }

  /// No more faults: the owner reads everything, beats come, lists are answered.
  void Heal() {
    line_.clear();
    for (const char* source : {"file", "http"}) ReadSource(source);
    for (int i = 0; i < 40; ++i) {
      Advance(kTickPeriod);
      if (i % 4 == 0) Send(Beat());
      while (!line_.empty()) DeliverOne();
      Pump();
      FinishList(true);
      Pump();
      Check();
    }
    EXPECT_EQ(view_.state(), ViewState::kLive);
    EXPECT_TRUE(view_.IsComplete("file"));
    EXPECT_TRUE(view_.IsComplete("http"));
    std::map<std::string, std::string> seen;
    for (const auto& [key, record] : view_.records()) seen[key] = *record;
    EXPECT_EQ(seen, world_);
    EXPECT_EQ(told_, world_) << "the last value of each key was told";
  }

 private:
  void Advance(Duration d) { clock_.Advance(d); }

  void ChangeWorld() {
    const std::string key = "pod" + std::to_string(random_.Below(6));
    if (random_.Below(3) == 0) {
      world_.erase(key);
    } else {
      // A pod keeps its source for life.
      const char* source = key < "pod3" ? "file" : "http";
      world_[key] = Desired(source, std::to_string(random_.Next()));
    }
  }

  void ReadSource(const std::string& source) {
    for (const auto& key : table_.Keys()) {
      if (ScopeOf("desired", *table_.Get(key)) != source || world_.contains(key)) continue;
      removed_.insert(key);
      Send(*table_.Remove(key));
    }
    for (const auto& [key, record] : world_) {
      if (ScopeOf("desired", record) != source) continue;
      const auto envelope = *table_.Put(key, record, "");
      if (envelope) Send(*envelope);
    }
    Completeness complete = table_.completeness();
    complete.scopes.insert(source);
    ever_complete_.insert(source);
    if (auto beat = table_.SetComplete(complete)) Send(Stamped(*beat));
  }

  void Withdraw() {
    if (auto beat = table_.SetComplete({})) Send(Stamped(*beat));
  }

  void RestartOwner() {
    Advance(Duration{1});
    table_ = TableCore(kOwner, {kBoot, clock_.Now().monotonic.count()});
    removed_.clear();
    ever_complete_.clear();
    ++starts_;
    started_at_ = clock_.Now().monotonic.count();
  }

  void Reconnect() {
    view_.OnConnection(false, clock_.Now());
    view_.OnConnection(true, clock_.Now());
  }

  Envelope Stamped(Envelope beat) {
    beat.sent_at = clock_.Now();
    return beat;
  }
  Envelope Beat() { return Stamped(table_.Beat()); }

  void Send(const Envelope& envelope) {
    if (random_.Below(5) == 0) return;
    line_.push_back(envelope);
    if (random_.Below(8) == 0) line_.push_back(envelope);
  }

  void DeliverOne() {
    if (line_.empty()) return;
    const auto at = random_.Below(3) == 0 ? random_.Below(line_.size()) : 0;
    const auto envelope = line_[at];
    line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(at));
    view_.OnEnvelope(envelope, clock_.Now());
  }

  void Pump() {
    const auto request = view_.NextList(clock_.Now());
    if (!request) return;
    FinishList(false);
    ListAnswer answer = table_.List(request->since);
    answer.sent_at = clock_.Now();
    pending_.emplace(request->id, answer);
  }

  void FinishList(bool succeed) {
    if (!pending_) return;
    const auto [id, answer] = *std::exchange(pending_, std::nullopt);
    if (succeed) {
      view_.OnListed(id, answer, clock_.Now());
    } else {
      view_.OnListFailed(id, clock_.Now());
    }
  }

  void OnChange(const RawView::Change& change) {
    EXPECT_EQ(told_.contains(change.key), change.present_before);
    if (change.present_after) {
      told_[change.key] = *change.after;
      return;
    }
    told_.erase(change.key);
    if (view_start_ != starts_) return;  // an earlier start's removal on its way
    const std::string scope = change.key < "pod3" ? "file" : "http";
    EXPECT_TRUE(removed_.contains(change.key) || ever_complete_.contains(scope))
        << change.key << " went without a word of its owner";
  }

  void Check() {
    for (const char* scope : {"file", "http"}) {
      if (!view_.IsComplete(scope) || view_start_ != starts_) continue;
      EXPECT_TRUE(ever_complete_.contains(scope));
      for (const auto& [key, record] : view_.records()) {
        if (ScopeOf("desired", *record) != scope) continue;
        EXPECT_TRUE(table_.Get(key) != nullptr || removed_.contains(key))
            << key << " was never in this start";
      }
    }
  }

  void OnState() {
    view_start_ =
        view_.state() == ViewState::kLive && view_.heard_at().monotonic.count() >= started_at_
            ? starts_
            : -1;
  }

  Random random_;
  FakeClock clock_;
  std::map<std::string, std::string> world_, told_;
  TableCore table_{kOwner, {kBoot, 1}};
  std::set<std::string> removed_, ever_complete_;  // in this start
  int starts_ = 0, view_start_ = -1;
  int64_t started_at_ = 0;
  std::deque<Envelope> line_;
  std::optional<std::pair<uint64_t, ListAnswer>> pending_;
  ViewCore view_{{"desired", kOwner, clock_.Now()},
                 [this](const RawView::Change& c) { OnChange(c); },
                 [this] { OnState(); }};
};

TEST(ViewCore, EverySeedOfFaultsEndsWithTheOwnersContent) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    Chaos chaos(seed);
    for (int i = 0; i < 60; ++i) chaos.Step();
    chaos.Heal();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
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
