#pragma once

/// Spans: one step of a trace and its duration. Without a sink in the process, or if the trace is
/// not sampled, a Span passes the traceparent on unchanged.
/// Threads: a Span is used by one at a time; the sink by any. Nothing fails.
/// Units: wall time.
/// Source: W3C Trace Context; docs/behaviour/logs-and-metrics.md, "Traces".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/status.h"

namespace splitlet {

enum class SpanKind { kInternal, kServer, kClient, kProducer, kConsumer };

struct SpanRecord {
  std::string trace_id, span_id;  // 32 and 16 hex digits
  std::string parent_id;          // empty: the first span of its trace
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  WallTime begin, end;
  std::vector<std::pair<std::string, std::string>> attributes;
  Status status;
};

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual WallTime Now() const = 0;
  virtual uint64_t NewSpanId() = 0;  // not zero
  /// Whether to record a trace that begins here; each process decides the same for the same id.
  virtual bool Samples(std::string_view trace_id) const = 0;
  /// Must not block.
  virtual void Take(SpanRecord span) = 0;

  /// The process's sink; nullptr if traces are not exported.
  static std::shared_ptr<SpanSink> Current();
  static void SetCurrent(std::shared_ptr<SpanSink> sink);
};

class Span {
 public:
  /// A step of the trace that `traceparent` names; the text may be empty or malformed.
  Span(std::string_view name, SpanKind kind, std::string traceparent);
  /// The first step of a new trace. `random` makes its id, even if the trace is not recorded.
  static Span Begin(std::string_view name, Random& random);
  ~Span() { End(); }
  Span(Span&& other) noexcept;
  Span& operator=(Span&&) = delete;

  bool recorded() const { return sink_ != nullptr; }
  void Set(std::string_view key, std::string value);
  /// Ends the span; only the first call counts.
  void End(const Status& status = OkStatus());
  /// Drops the span, because nothing happened.
  void Discard() { sink_ = nullptr; }
  /// The traceparent for the next steps: with this span's id, or unchanged if it is not recorded.
  const std::string& traceparent() const { return traceparent_; }

 private:
  Span() = default;
  void Record(std::string_view name, SpanKind kind, std::shared_ptr<SpanSink> sink);

  std::shared_ptr<SpanSink> sink_;
  std::string traceparent_;
  SpanRecord record_;
};

}  // namespace splitlet
