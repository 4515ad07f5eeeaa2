#include "libs/bus/quiet_heartbeats.h"

#include <utility>

#include "libs/bus/view_core.h"

namespace splitlet::bus {

/// A heartbeat must not overtake a message that is on its way: the view would see a gap.
bool QuietHeartbeats::Repeats(const Last& last, const Envelope& envelope) {
  return !envelope.change && last.untaken == 0 && last.sent_at &&
         last.sent_at.SameBoot(envelope.sent_at) && envelope.sent_at >= last.sent_at &&
         envelope.sent_at - last.sent_at < kAwayAfter && envelope.start == last.start &&
         envelope.sequence == last.sequence && envelope.producer == last.producer &&
         envelope.promise.version == last.version;
}

bool QuietHeartbeats::Keep(const std::string& table, const Envelope& envelope) {
  const std::lock_guard lock(mutex_);
  Last& last = last_[table];
  if (Repeats(last, envelope)) {
    last.sent_at = envelope.sent_at;
    kept_[table] = envelope;
    return true;
  }
  if (envelope.start != last.start || envelope.producer != last.producer) last.sent_at = {};
  last.start = envelope.start;
  last.sequence = envelope.sequence;
  last.producer = envelope.producer;
  if (!envelope.change) {
    last.version = envelope.promise.version;
    last.sent_at = envelope.sent_at;
  }
  ++last.untaken;
  return false;
}

void QuietHeartbeats::Taken(const std::string& table) {
  const std::lock_guard lock(mutex_);
  --last_[table].untaken;
}

void QuietHeartbeats::Forget() {
  const std::lock_guard lock(mutex_);
  for (auto& [table, last] : last_) last.sent_at = {};
}

QuietHeartbeats::Kept QuietHeartbeats::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kept_, {});
}

}  // namespace splitlet::bus
