#pragma once

/// Keeps heartbeats that repeat the last one, so that the loop need not wake for them. The loop
/// takes them when it runs for another reason: a view counts a heartbeat by the time of its
/// sending. The loop still wakes for a change, a gap, a statement, a start, and for a heartbeat
/// after a break.
/// Threads: any; nothing fails.
/// Source: docs/design.md, "How state is shared".

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "libs/bus/message.h"

namespace splitlet::bus {

class QuietHeartbeats {
 public:
  /// The last heartbeat of each table.
  using Kept = std::map<std::string, Envelope>;

  /// For each message as it comes. True: it is kept. False: the loop must take the message, and
  /// then Taken is called.
  bool Keep(const std::string& table, const Envelope& envelope);
  /// The loop took a message that was not kept, or will never get it.
  void Taken(const std::string& table);
  /// Messages were lost: the next heartbeat of each table is not kept.
  void Forget();
  /// The heartbeats kept since the last call.
  Kept Take();

 private:
  struct Last {
    StartId start;
    uint64_t sequence = 0;
    std::string producer;
    uint64_t version = 0;  // of the promise
    Clock::Time sent_at;   // no time: no heartbeat of this start yet
    size_t untaken = 0;    // messages on their way to the loop
  };
  static bool Repeats(const Last& last, const Envelope& envelope);

  std::mutex mutex_;
  std::map<std::string, Last> last_;
  Kept kept_;
};

}  // namespace splitlet::bus
