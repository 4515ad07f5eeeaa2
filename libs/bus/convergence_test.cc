#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "libs/base/random.h"
#include "libs/bus/scope.h"
#include "libs/bus/table_core.h"
#include "libs/bus/test_desired.h"
#include "libs/bus/view_core.h"

namespace splitlet::bus {
namespace {

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
      case 5: Send(Heartbeat()); break;
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

  /// No more faults: the owner reads everything, heartbeats come, lists are answered.
  void Heal() {
    line_.clear();
    for (const char* source : {"file", "http"}) ReadSource(source);
    for (int i = 0; i < 40; ++i) {
      Advance(kPollPeriod / 2);
      if (i % 4 == 0) Send(Heartbeat());
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
    EXPECT_EQ(told_, world_) << "the last value of each key was reported";
  }

 private:
  void Advance(Duration d) { clock_.Advance(d); }

  void ChangeWorld() {
    const std::string key = "pod" + std::to_string(random_.Below(6));
    if (random_.Below(3) == 0) {
      world_.erase(key);
    } else {
      // A pod keeps its source until it is removed.
      const char* source = key < "pod3" ? "file" : "http";
      world_[key] = Desired(source, std::to_string(random_.Next()));
    }
  }

  void ReadSource(const std::string& source) {
    for (const auto& key : table_.Keys()) {
      if (ScopeOf("desired", *table_.Get(key)) != source || world_.contains(key)) continue;
      History().removed.insert(key);
      Send(*table_.Remove(key, ""));
    }
    for (const auto& [key, record] : world_) {
      if (ScopeOf("desired", record) != source) continue;
      const auto envelope = *table_.Put(key, record, "");
      if (envelope) Send(*envelope);
    }
    Completeness complete = table_.completeness();
    complete.scopes.insert(source);
    if (History().complete.insert(source).second) {
      for (const auto& key : table_.Keys()) {
        if (ScopeOf("desired", *table_.Get(key)) == source) History().promised[source].insert(key);
      }
    }
    if (auto heartbeat = table_.SetComplete(complete)) Send(Stamped(*heartbeat));
  }

  void Withdraw() {
    if (auto heartbeat = table_.SetComplete({})) Send(Stamped(*heartbeat));
  }

  void RestartOwner() {
    Advance(Duration{1});
    table_ = TableCore(kOwner, {kBoot, clock_.Now().monotonic.count()});
    start_ = clock_.Now().monotonic.count();
  }

  void Reconnect() {
    view_.OnConnection(false, clock_.Now());
    view_.OnConnection(true, clock_.Now());
  }

  Envelope Stamped(Envelope heartbeat) {
    heartbeat.sent_at = clock_.Now();
    return heartbeat;
  }
  Envelope Heartbeat() { return Stamped(table_.Heartbeat()); }

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
    speaking_ = std::max(speaking_, envelope.start.ns);
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
      speaking_ = std::max(speaking_, answer.start.ns);
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
    const std::string scope = change.key < "pod3" ? "file" : "http";
    const Said& said = history_[speaking_];
    EXPECT_TRUE(said.removed.contains(change.key) || said.complete.contains(scope))
        << change.key << " went without a word of its owner";
  }

  /// If the view calls a scope complete, the owner's start that it follows has called it complete.
  /// Then the scope holds the records of that start and no others.
  void Check() {
    for (const char* scope : {"file", "http"}) {
      if (!view_.IsComplete(scope)) continue;
      const bool newest = view_.heard_at().monotonic.count() >= start_;
      if (!newest) continue;
      EXPECT_TRUE(History().complete.contains(scope));
      for (const auto& [key, record] : view_.records()) {
        if (ScopeOf("desired", *record) != scope) continue;
        EXPECT_TRUE(table_.Get(key) != nullptr || History().removed.contains(key))
            << key << " was never in this start";
      }
      for (const auto& key : History().promised[scope]) {
        EXPECT_TRUE(view_.records().contains(key) || History().removed.contains(key))
            << key << " is missing from what is called complete";
      }
    }
  }

  /// The removals and completeness that a start of the owner has published so far.
  struct Said {
    std::set<std::string> removed, complete;
    std::map<std::string, std::set<std::string>>
        promised;  // by source: there when it was first complete
  };
  Said& History() { return history_[start_]; }

  Random random_;
  FakeClock clock_;
  std::map<std::string, std::string> world_, told_;
  TableCore table_{kOwner, {kBoot, 1}};
  std::map<int64_t, Said> history_;  // by start
  int64_t start_ = 1;                // of the owner now
  int64_t speaking_ = 0;             // whose words the view follows, the newest it was given
  std::deque<Envelope> line_;
  std::optional<std::pair<uint64_t, ListAnswer>> pending_;
  ViewCore view_{
      {"desired", kOwner, clock_.Now()}, [this](const RawView::Change& c) { OnChange(c); }, [] {}};
};

TEST(Convergence, EverySeedOfFaultsEndsWithTheOwnersContent) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    Chaos chaos(seed);
    for (int i = 0; i < 60; ++i) chaos.Step();
    chaos.Heal();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace splitlet::bus
