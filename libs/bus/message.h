#pragma once

/// Messages between owners and views of a table, independent of their form on the wire.
/// Threads: values; records are shared and immutable. Nothing fails.
/// Source: docs/design.md, "How state is shared".

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/bus/bus.h"

namespace splitlet::bus {

/// Schema level of this build: it writes this level and reads none above it.
inline constexpr uint32_t kSchema = 1;

/// Identifies a start of an owner. Within a boot a later start is greater; starts of two boots do
/// not compare.
struct StartId {
  uint64_t boot = 0;  // 0: none
  int64_t ns = 0;     // CLOCK_MONOTONIC at the start
  bool operator==(const StartId&) const = default;
  explicit operator bool() const { return boot != 0; }
  bool Before(const StartId& other) const { return ns < other.ns; }
};

/// The state of a reader; without a start the reader needs everything.
struct Since {
  StartId start;
  uint64_t sequence = 0;
};

struct Change {
  std::string key;
  bool removal = false;
  bool too_large = false;  // published without its content
  uint32_t schema = kSchema;
  std::shared_ptr<const std::string> record;  // nullptr: removal, or too large
  std::string traceparent;
};

/// An owner's statement about its table. `version` counts the statements of one start, so that a
/// late old one never replaces a newer one.
struct Promise {
  uint64_t version = 0;
  Completeness completeness;
};

/// A message on the subject of a table: a change or a heartbeat.
struct Envelope {
  StartId start;
  uint64_t sequence = 0;  // of this change; in a heartbeat: of the last change before it
  std::string producer;
  std::optional<Change> change;
  Promise promise;      // heartbeats only
  Clock::Time sent_at;  // heartbeats only
};

/// A snapshot of a table, or the changes since the reader's state.
struct ListAnswer {
  StartId start;
  uint64_t sequence = 0;
  bool full = false;
  uint32_t schema = kSchema;
  Promise promise;
  Clock::Time sent_at;
  std::vector<Change> changes;
};

}  // namespace splitlet::bus
