#pragma once

/// Sends the spans of a process to a collector in batches, on a thread of its own. The queue is
/// bounded; spans above the bound are dropped and counted. An unreachable collector loses spans but
/// never delays work: attempts have a back-off, and the log gets one line, then counts.
/// Threads: as span.h. Errors are logged and counted.
/// Source: docs/tracing.md; the public OTLP specification, "Retries".

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/base/span.h"
#include "libs/trace/otlp.h"
#include "libs/trace/sender.h"

namespace splitlet::trace {

struct TraceMetrics {
  explicit TraceMetrics(prometheus::Registry& registry);
  prometheus::Counter& sent;     // splitlet_trace_spans_total{result="sent"}
  prometheus::Counter& dropped;  // {result="dropped"}: the queue was full
  prometheus::Counter& failed;   // {result="failed"}: the collector refused them
  prometheus::Gauge& queued;     // splitlet_trace_queued_spans
};

class Exporter final : public SpanSink {
 public:
  static constexpr size_t kMaxQueued = 4096;
  static constexpr size_t kMaxBatch = 512;
  static constexpr Duration kBatchDelay = 1s;  // a span waits this long for others
  static constexpr Duration kSendLimit = 10s;
  static constexpr Duration kFlushLimit = 1s;  // limit for sending all waiting spans at the end
  static constexpr Duration kMinBackoff = 1s, kMaxBackoff = 30s;
  static constexpr int kTries = 3;

  struct Options {
    Origin origin;
    std::string endpoint;  // shown in the log
    int64_t sample_per_million = 0;
    uint64_t seed = 1;  // seed of span ids; unique to this process and start
  };
  struct Deps {
    const Clock& clock;
    Log log;
    TraceMetrics& metrics;
    std::unique_ptr<SpanSender> sender;
  };
  Exporter(Deps deps, Options options);
  /// Sends waiting spans, as many as the collector accepts within kFlushLimit.
  ~Exporter() override;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  WallTime Now() const override { return deps_.clock.WallNow(); }
  uint64_t NewSpanId() override;
  bool Samples(std::string_view trace_id) const override;
  void Take(SpanRecord span) override;

 private:
  void RunUntilStopped();
  /// Waits for a batch; returns an empty one when the exporter stops and no span waits.
  std::vector<SpanRecord> NextBatch();
  Status SendBatch(const std::vector<SpanRecord>& batch);
  Deadline SendDeadline() const;
  /// True after the time, false if the exporter stops.
  bool Pause(Duration backoff);
  void Note(const Status& status, size_t spans);

  Deps deps_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<SpanRecord> queue_;
  Random random_;
  bool stopping_ = false;
  bool done_ = false;  // the thread has finished
  Clock::Time flush_until_;
  const std::shared_ptr<CancelToken> cancel_;  // cancels a call that may take longer than the flush
  // Used by the thread only.
  std::string last_error_;
  uint64_t lost_ = 0;  // spans lost since the last line in the log
  Clock::Time told_at_;
  std::jthread thread_;
};

/// Decides by the low 63 bits of the trace id, like every OpenTelemetry library.
bool SamplesTrace(std::string_view trace_id, int64_t per_million);

}  // namespace splitlet::trace
