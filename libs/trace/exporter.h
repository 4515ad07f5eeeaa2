#pragma once

/// Sends the spans of a process to a collector in batches, on a thread of its own. The queue is
/// bounded; what finds it full is dropped and counted. A collector that is away costs spans, never
/// work: it is tried again with back-off, and logged once and then with a count.
/// Threads: as span.h; no error comes out of here.
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
  prometheus::Counter& failed;   // {result="failed"}: the collector did not take them
  prometheus::Gauge& queued;     // splitlet_trace_queued_spans
};

class Exporter final : public SpanSink {
 public:
  static constexpr size_t kMaxQueued = 4096;
  static constexpr size_t kMaxBatch = 512;
  static constexpr Duration kBatchDelay = 1s;  // a span waits this long for others
  static constexpr Duration kSendLimit = 10s;
  static constexpr Duration kFlushLimit = 1s;  // for all that waits, at the end
  static constexpr Duration kMinBackoff = 1s, kMaxBackoff = 30s;
  static constexpr int kTries = 3;

  struct Options {
    Origin origin;
    std::string endpoint;  // for the log
    int64_t sample_per_million = 0;
    uint64_t seed = 1;  // of span ids; of this process and start alone
  };
  struct Deps {
    const Clock& clock;
    Log log;
    TraceMetrics& metrics;
    std::unique_ptr<SpanSender> sender;
  };
  Exporter(Deps deps, Options options);
  /// Sends what waits, as far as the collector takes it within kFlushLimit.
  ~Exporter() override;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  WallTime Now() const override { return deps_.clock.WallNow(); }
  uint64_t NewSpanId() override;
  bool Samples(std::string_view trace_id) const override;
  void Take(SpanRecord span) override;

 private:
  void RunUntilStopped();
  /// Waits for a batch; none when it is time to stop and nothing is left.
  std::vector<SpanRecord> NextBatch();
  Status SendBatch(const std::vector<SpanRecord>& batch);
  Deadline SendDeadline() const;
  /// True after that time, false when it is time to stop.
  bool Pause(Duration backoff);
  void Note(const Status& status, size_t spans);

  Deps deps_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<SpanRecord> queue_;
  Random random_;
  bool stopping_ = false;
  bool done_ = false;  // the thread has nothing left to do
  Clock::Time flush_until_;
  const std::shared_ptr<CancelToken> cancel_;  // gives up a call that has longer than the flush
  // Of the thread.
  std::string last_error_;
  uint64_t lost_ = 0;  // since the last line in the log
  Clock::Time told_at_;
  std::jthread thread_;
};

/// By the low 63 bits of the trace's id, as every OpenTelemetry library decides it.
bool SamplesTrace(std::string_view trace_id, int64_t per_million);

}  // namespace splitlet::trace
