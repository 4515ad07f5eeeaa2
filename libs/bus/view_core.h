#pragma once

/// The reader's side of a table, without I/O: takes messages, lists and time, and decides what to
/// list next.
/// Threads: one. After lost, doubled and late messages it still ends with the owner's last content.
/// Errors: none; nonsense is counted and ignored.
/// Source: docs/design.md, "How state is shared".

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/bus/message.h"

namespace splitlet::bus {

inline constexpr Duration kHeartbeatPeriod = 1s;
inline constexpr Duration kAwayAfter = 1500ms;  // without a heartbeat: poll
inline constexpr Duration kPollPeriod = 500ms;
inline constexpr Duration kStaleAfter = 3s;  // without heartbeat or answer
inline constexpr Duration kListLimit = 5s;   // deadline of a list
// All processes of a boot share a clock. A start far in its future would exclude all later starts.
inline constexpr Duration kStartSlack = 1s;

class ViewCore {
 public:
  struct Options {
    std::string table;
    std::string owner;  // messages of other producers are dropped
    Clock::Time now;    // of this boot; messages of other boots are dropped
  };
  struct ListRequest {
    uint64_t id = 0;
    Since since;
  };
  /// All counts only grow.
  struct Counts {
    uint64_t changes = 0;      // applied from messages
    uint64_t duplicates = 0;   // known already
    uint64_t gaps = 0;         // lists asked for because a message is missing
    uint64_t full_lists = 0;   // applied
    uint64_t delta_lists = 0;  // applied
    uint64_t failed_lists = 0;
    uint64_t foreign = 0;     // from a process that does not own the table
    uint64_t impossible = 0;  // from a start in the future
    uint64_t obsolete = 0;    // from another boot or an earlier start, or with a number never given
    uint64_t unknown = 0;     // records above our schema level
    uint64_t overflows = 0;   // messages that could not be held until the list came
  };

  ViewCore(Options options, std::function<void(const RawView::Change&)> on_change,
           std::function<void()> on_state);

  void OnEnvelope(const Envelope& envelope, Clock::Time now);
  /// The answer to the request `id`; an answer to an older request is ignored.
  void OnListed(uint64_t id, const ListAnswer& answer, Clock::Time now);
  void OnListFailed(uint64_t id, Clock::Time now);
  void OnConnection(bool connected, Clock::Time now);
  /// Messages were dropped on the way (a queue was full).
  void OnLost();
  /// The next list to request, if any; at most one at a time. Call it after each input and at
  /// NextDue.
  std::optional<ListRequest> NextList(Clock::Time now);
  /// When NextList has more to do without further input; nullopt: never.
  std::optional<Clock::Time> NextDue() const;

  ViewState state() const { return state_; }
  Clock::Time stale_since() const {
    return state_ == ViewState::kStale ? heard_at_ : Clock::Time{};
  }
  Clock::Time heard_at() const { return heard_at_; }
  bool IsComplete(std::string_view scope) const;
  /// True if the owner names scopes and all of them are complete.
  bool IsCompleteEverywhere() const {
    return synced() && !shown_.scopes.empty() && shown_.scopes == claimed_.completeness.scopes;
  }
  const Completeness& completeness() const { return shown_; }
  bool was_live() const { return static_cast<bool>(start_); }
  Clock::Time owner_start() const { return {start_.boot, Duration{start_.ns}}; }
  const std::map<std::string, RawView::Record>& records() const { return records_; }
  const Counts& counts() const { return counts_; }

 private:
  struct InFlight {
    uint64_t id = 0;
    Since since;
    uint64_t lost_mark = 0;
    StartId seen;  // start and number known when the list was requested
    uint64_t known = 0;
    bool holds_back = false;  // a full list: messages wait until it is applied
  };
  void BeginStart(const StartId& start);
  void OnMessage(const Envelope& envelope);
  void Hold(const Envelope& envelope);
  void ApplyHeld();
  void KeepPromise(const Envelope& heartbeat);
  void AcceptPromise();
  /// True if a later answer shows that the owner never gave the known number.
  bool ForgetWrongNumber(const InFlight& request, const ListAnswer& answer);
  void ApplyFull(const ListAnswer& answer);
  void ApplyDelta(const ListAnswer& answer);
  void Apply(const Change& change);
  void Erase(const std::string& key, const std::string& traceparent);
  void Show();
  void Heard(Clock::Time sent_at, Clock::Time now);
  void Update(Clock::Time now);
  bool Claims(const std::string& key) const;
  static bool IsPossible(const StartId& start, Clock::Time now) {
    return start.ns <= (now.monotonic + kStartSlack).count();
  }
  bool synced() const { return start_ && start_ == seen_; }
  bool Wanted() const;
  /// When the next list is due by time.
  Clock::Time ListDue() const;

  static constexpr size_t kMaxHeld = 4096;
  static constexpr size_t kMaxHeldBytes = 8u << 20;

  const Options options_;
  const std::function<void(const RawView::Change&)> on_change_;
  const std::function<void()> on_state_;

  StartId start_;         // of the content: its list was applied
  uint64_t applied_ = 0;  // last change applied
  StartId seen_;          // the greatest known start
  uint64_t known_ = 0;    // the greatest known sequence of `seen_`
  uint64_t lost_ = 1;     // counts losses that no message shows: start, reconnect, overflow
  uint64_t checked_ = 0;  // the value of lost_ that a list has answered

  std::map<std::string, RawView::Record> records_;
  std::set<std::string>
      leftovers_;    // keys of an earlier start or removed unseen, until a complete list decides
  Promise claimed_;  // the owner's statement, at a sequence that is applied
  std::optional<Envelope> newest_heartbeat_;  // by promise version
  Completeness shown_;                        // claimed_ less scopes that have leftovers
  bool sweep_ = false;                        // a full list could sweep leftovers

  std::map<uint64_t, Change> held_;  // changes that cannot be applied yet, by sequence
  size_t held_bytes_ = 0;

  std::optional<InFlight> in_flight_;
  uint64_t last_id_ = 0;
  Clock::Time not_before_;  // earliest time of the next wanted list
  Clock::Time poll_at_;     // of the next list while NATS is away
  bool connected_ = false;
  Clock::Time heard_at_;      // last heartbeat or answer of the owner
  Clock::Time heartbeat_at_;  // last heartbeat
  ViewState state_ = ViewState::kSyncing;
  bool changed_ = false;  // completeness or state, since on_state_ ran
  Counts counts_;
};

}  // namespace splitlet::bus
