#pragma once

/// The owner's side of a table, no I/O: numbering, recent changes, lists.
/// Threads: one.
/// Errors: a record above 16 MiB is RESOURCE_EXHAUSTED and leaves the table as it was.
/// Source: docs/design.md, "How state is shared".

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/bus/message.h"

namespace splitlet::bus {

class TableCore {
 public:
  TableCore(std::string producer, StartId start) : producer_(std::move(producer)), start_(start) {}

  /// The message to publish; nullopt if the record is unchanged, byte for byte.
  StatusOr<std::optional<Envelope>> Put(const std::string& key, std::string record,
                                        std::string_view traceparent);
  /// A delta list shows the removal without its trace: nothing is kept of a removed key.
  std::optional<Envelope> Remove(const std::string& key, std::string_view traceparent);
  /// A heartbeat to publish immediately; nullopt if nothing changed.
  std::optional<Envelope> SetComplete(Completeness completeness);

  Envelope Heartbeat() const;
  /// A delta if `since` is of this start and the ring reaches back to it, else everything, with the
  /// removals that the ring still holds: a reader may have a removed key from an earlier start, and
  /// no completeness vouches for its absence.
  ListAnswer List(const Since& since) const;

  const std::string* Get(const std::string& key) const;
  std::vector<std::string> Keys() const;
  const Completeness& completeness() const { return promise_.completeness; }
  uint64_t sequence() const { return sequence_; }

 private:
  struct Entry {
    std::shared_ptr<const std::string> record;
    std::string traceparent;
  };
  Envelope Number(Change change);
  Change ChangeOf(const std::string& key) const;
  std::set<std::string> RemovedKeys() const;

  /// The ring holds keys only; a delta has their records of the moment of the list.
  static constexpr size_t kRing = 4096;
  std::string producer_;
  StartId start_;
  uint64_t sequence_ = 0;
  Promise promise_;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> ring_;  // keys of changes sequence_ - ring_.size() + 1 to sequence_
};

}  // namespace splitlet::bus
