#include "libs/bus/view_core.h"

#include <algorithm>
#include <utility>

#include "libs/bus/scope.h"

namespace splitlet::bus {

ViewCore::ViewCore(Options options, std::function<void(const RawView::Change&)> on_change,
                   std::function<void()> on_state)
    : options_(std::move(options)),
      on_change_(std::move(on_change)),
      on_state_(std::move(on_state)),
      not_before_(options_.now),
      poll_at_(options_.now),
      heard_at_(options_.now),
      heartbeat_at_(options_.now) {}

void ViewCore::OnEnvelope(const Envelope& envelope, Clock::Time now) {
  if (envelope.producer != options_.owner) {
    ++counts_.foreign;
    return;
  }
  if (envelope.start.boot != options_.now.boot || envelope.start.Before(seen_)) {
    ++counts_.obsolete;
    return;
  }
  if (!IsPossible(envelope.start, now)) {
    ++counts_.impossible;
    return;
  }
  if (envelope.start != seen_) {
    BeginStart(envelope.start);
    not_before_ = now;
  }
  known_ = std::max(known_, envelope.sequence);
  if (envelope.change) {
    OnMessage(envelope);
  } else {
    Heard(envelope.sent_at, now);
    heartbeat_at_ = std::max(heartbeat_at_, std::min(envelope.sent_at, now));
    KeepPromise(envelope);
  }
  AcceptPromise();
  Update(now);
}

void ViewCore::BeginStart(const StartId& start) {
  seen_ = start;
  known_ = 0;
  held_.clear();
  held_bytes_ = 0;
  newest_heartbeat_.reset();
  shown_ = {};
  sweep_ = false;
  changed_ = true;
}

void ViewCore::OnMessage(const Envelope& envelope) {
  if (synced() && envelope.sequence <= applied_) {
    ++counts_.duplicates;
    return;
  }
  const bool waits = !synced() || (in_flight_ && in_flight_->holds_back);
  if (waits || envelope.sequence != applied_ + 1) {
    Hold(envelope);
    return;
  }
  if (envelope.change->too_large) return;  // known_ is above applied_ now: a gap
  applied_ = envelope.sequence;
  ++counts_.changes;
  Apply(*envelope.change);
  ApplyHeld();
}

void ViewCore::Hold(const Envelope& envelope) {
  const Change& change = *envelope.change;
  if (change.too_large) return;
  const size_t bytes = change.record == nullptr ? 0 : change.record->size();
  if (held_.size() >= kMaxHeld || held_bytes_ + bytes > kMaxHeldBytes) {
    ++counts_.overflows;
    return;
  }
  if (held_.emplace(envelope.sequence, change).second) held_bytes_ += bytes;
}

void ViewCore::ApplyHeld() {
  if (!synced()) return;  // its list has not come, so its numbers mean nothing yet
  while (!held_.empty() && held_.begin()->first <= applied_ + 1) {
    const auto [sequence, change] = *held_.begin();
    held_.erase(held_.begin());
    held_bytes_ -= change.record == nullptr ? 0 : change.record->size();
    if (sequence <= applied_) continue;
    applied_ = sequence;
    ++counts_.changes;
    Apply(change);
  }
}

void ViewCore::KeepPromise(const Envelope& heartbeat) {
  if (newest_heartbeat_ && newest_heartbeat_->promise.version >= heartbeat.promise.version) return;
  newest_heartbeat_ = heartbeat;
  // A withdrawn scope counts immediately, even from a heartbeat that is ahead of us.
  const auto& scopes = heartbeat.promise.completeness.scopes;
  if (!synced() || heartbeat.promise.version <= claimed_.version) return;
  const auto gone = std::erase_if(claimed_.completeness.scopes,
                                  [&](const auto& s) { return !scopes.contains(s); });
  if (gone > 0) Show();
}

void ViewCore::AcceptPromise() {
  if (!newest_heartbeat_ || !synced() || newest_heartbeat_->sequence > applied_) return;
  if (newest_heartbeat_->promise.version <= claimed_.version) return;
  claimed_ = newest_heartbeat_->promise;
  Show();
}

void ViewCore::OnListed(uint64_t id, const ListAnswer& answer, Clock::Time now) {
  if (!in_flight_ || in_flight_->id != id) return;
  const InFlight request = *std::exchange(in_flight_, std::nullopt);
  const bool dead = answer.start.boot != options_.now.boot || answer.start.Before(seen_);
  const bool fits = answer.full || (answer.start == start_ && request.since.start == start_);
  const bool behind = answer.full && answer.start == start_ && answer.sequence < applied_;
  const bool possible = IsPossible(answer.start, now);
  if (dead || !fits || behind || !possible) {
    ++(possible ? counts_.obsolete : counts_.impossible);
    not_before_ = now + kPollPeriod;
    ApplyHeld();
    Update(now);
    return;
  }
  if (answer.start != seen_) BeginStart(answer.start);
  if (ForgetWrongNumber(request, answer)) not_before_ = now + kPollPeriod;
  checked_ = std::max(checked_, request.lost_mark);
  known_ = std::max(known_, answer.sequence);
  Heard(answer.sent_at, now);
  if (answer.full) {
    ApplyFull(answer);
  } else {
    ApplyDelta(answer);
  }
  ApplyHeld();
  AcceptPromise();
  Update(now);
}

/// An owner gives a number before it publishes it, so a list requested later reaches at least as
/// far. A number that was never given would look like a gap after each list, and cause lists
/// without end.
bool ViewCore::ForgetWrongNumber(const InFlight& request, const ListAnswer& answer) {
  if (request.seen != answer.start || answer.sequence >= request.known) return false;
  ++counts_.obsolete;
  if (known_ == request.known) known_ = answer.sequence;
  std::erase_if(held_, [&](const auto& held) {
    const bool wrong = held.first > answer.sequence && held.first <= request.known;
    if (wrong && held.second.record != nullptr) held_bytes_ -= held.second.record->size();
    return wrong;
  });
  // A promise at that number would never apply, and would hide the next one of its version.
  if (newest_heartbeat_ && newest_heartbeat_->sequence > answer.sequence &&
      newest_heartbeat_->sequence <= request.known)
    newest_heartbeat_.reset();
  return true;
}

void ViewCore::ApplyFull(const ListAnswer& answer) {
  ++counts_.full_lists;
  std::set<std::string> absent;
  for (const auto& [key, record] : records_) absent.insert(key);
  start_ = answer.start;
  applied_ = answer.sequence;
  claimed_ = {};
  shown_ = {};
  leftovers_.clear();
  for (const auto& change : answer.changes) {
    Apply(change);
    absent.erase(change.key);
  }
  claimed_ = answer.promise;
  for (const auto& key : absent) {
    if (Claims(key)) {
      Erase(key, {});
    } else {
      leftovers_.insert(key);
    }
  }
  Show();
}

void ViewCore::ApplyDelta(const ListAnswer& answer) {
  ++counts_.delta_lists;
  if (answer.sequence > applied_) {
    applied_ = answer.sequence;
    for (const auto& change : answer.changes) Apply(change);
  }
  if (answer.promise.version <= claimed_.version) return;
  claimed_ = answer.promise;
  Show();
}

void ViewCore::Apply(const Change& change) {
  const bool judged = leftovers_.erase(change.key) > 0;
  if (change.removal) {
    Erase(change.key, change.traceparent);
  } else {
    RawView::Record after = change.record;
    if (change.schema > kSchema) {
      ++counts_.unknown;
      after = nullptr;
    }
    const auto [it, added] = records_.try_emplace(change.key);
    const RawView::Record before = std::exchange(it->second, after);
    const bool same =
        !added && (before == after || (before != nullptr && after != nullptr && *before == *after));
    if (!same) on_change_({change.key, !added, true, before, after, change.traceparent});
  }
  if (judged) Show();
}

void ViewCore::Erase(const std::string& key, const std::string& traceparent) {
  const auto it = records_.find(key);
  if (it == records_.end()) return;
  const RawView::Record before = it->second;
  records_.erase(it);
  on_change_({key, true, false, before, nullptr, traceparent});
}

bool ViewCore::Claims(const std::string& key) const {
  const auto& scopes = claimed_.completeness.scopes;
  if (scopes.contains(std::string(kAll))) return true;
  const auto& record = records_.at(key);
  return record != nullptr && scopes.contains(ScopeOf(options_.table, *record));
}

void ViewCore::Show() {
  shown_ = claimed_.completeness;
  sweep_ = false;
  for (const auto& key : leftovers_) {
    if (!Claims(key)) continue;
    sweep_ = true;
    shown_.scopes.erase(std::string(kAll));
    if (const auto& record = records_.at(key))
      shown_.scopes.erase(ScopeOf(options_.table, *record));
  }
  changed_ = true;
}

bool ViewCore::IsComplete(std::string_view scope) const {
  if (!synced()) return false;
  return shown_.scopes.contains(std::string(scope)) || shown_.scopes.contains(std::string(kAll));
}

void ViewCore::OnListFailed(uint64_t id, Clock::Time now) {
  if (!in_flight_ || in_flight_->id != id) return;
  in_flight_.reset();
  ++counts_.failed_lists;
  not_before_ = now + kPollPeriod;
  ApplyHeld();
  AcceptPromise();
  Update(now);
}

void ViewCore::OnConnection(bool connected, Clock::Time now) {
  if (connected) {
    ++lost_;
    not_before_ = now;
  }
  connected_ = connected;
}

void ViewCore::OnLost() { ++lost_; }

bool ViewCore::Wanted() const {
  return checked_ < lost_ || !synced() || known_ > applied_ || sweep_;
}

std::optional<ViewCore::ListRequest> ViewCore::NextList(Clock::Time now) {
  Update(now);
  if (in_flight_) return std::nullopt;
  if (now < ListDue()) return std::nullopt;
  if (synced() && known_ > applied_) ++counts_.gaps;
  poll_at_ = now + kPollPeriod;
  InFlight request;
  request.id = ++last_id_;
  request.holds_back = !synced() || sweep_;
  if (!request.holds_back) request.since = {start_, applied_};
  request.lost_mark = lost_;
  request.seen = seen_;
  request.known = known_;
  in_flight_ = request;
  return ListRequest{request.id, request.since};
}

Clock::Time ViewCore::ListDue() const {
  if (Wanted()) return not_before_;
  const Clock::Time poll = std::max(poll_at_, not_before_);
  return connected_ ? std::max(poll, heartbeat_at_ + kAwayAfter) : poll;
}

std::optional<Clock::Time> ViewCore::NextDue() const {
  std::optional<Clock::Time> due;
  if (!in_flight_) due = ListDue();
  if (was_live() && state_ != ViewState::kStale)
    due = due ? std::min(*due, heard_at_ + kStaleAfter) : heard_at_ + kStaleAfter;
  return due;
}

void ViewCore::Heard(Clock::Time sent_at, Clock::Time now) {
  // Owner and reader share a clock: messages that waited in a queue do not look fresh.
  if (!sent_at.SameBoot(now)) return;
  heard_at_ = std::max(heard_at_, std::min(sent_at, now));
}

void ViewCore::Update(Clock::Time now) {
  ViewState state = synced() ? ViewState::kLive : ViewState::kSyncing;
  if (was_live() && now - heard_at_ >= kStaleAfter) state = ViewState::kStale;
  if (state == state_ && !changed_) return;
  state_ = state;
  changed_ = false;
  on_state_();
}

}  // namespace splitlet::bus
