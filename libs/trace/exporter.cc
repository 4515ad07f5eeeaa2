#include "libs/trace/exporter.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "opentelemetry/trace_service.pb.h"

namespace splitlet::trace {
namespace {

constexpr Duration kTellAgain = 10min;
constexpr int64_t kMillion = 1'000'000;

prometheus::Counter& Spans(prometheus::Registry& registry, const char* result) {
  return prometheus::BuildCounter()
      .Name("splitlet_trace_spans_total")
      .Help("Spans of sampled traces, by result")
      .Register(registry)
      .Add({{"result", result}});
}

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kAborted;
}

}  // namespace

TraceMetrics::TraceMetrics(prometheus::Registry& registry)
    : sent(Spans(registry, "sent")),
      dropped(Spans(registry, "dropped")),
      failed(Spans(registry, "failed")),
      queued(prometheus::BuildGauge()
                 .Name("splitlet_trace_queued_spans")
                 .Help("Spans that wait to be sent")
                 .Register(registry)
                 .Add({})) {}

bool SamplesTrace(std::string_view trace_id, int64_t per_million) {
  if (per_million >= kMillion) return true;
  if (per_million <= 0 || trace_id.size() != 32) return false;
  uint64_t low = 0;
  const auto parsed = std::from_chars(trace_id.data() + 16, trace_id.data() + 32, low, 16);
  if (parsed.ec != std::errc()) return false;
  constexpr double kAll = 9223372036854775808.0;  // 2^63
  const double part = static_cast<double>(per_million) / static_cast<double>(kMillion);
  return low >> 1 < static_cast<uint64_t>(part * kAll);
}

Exporter::Exporter(Deps deps, Options options)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      random_(options_.seed),
      cancel_(std::make_shared<CancelToken>()) {
  thread_ = std::jthread([this] { RunUntilStopped(); });
}

Exporter::~Exporter() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    flush_until_ = deps_.clock.Now() + kFlushLimit;
    wake_.notify_all();
    wake_.wait_for(lock, kFlushLimit, [this] { return done_; });
  }
  cancel_->Cancel();  // cancels a call that began earlier, with the long limit
}

uint64_t Exporter::NewSpanId() {
  const std::lock_guard lock(mutex_);
  uint64_t id = 0;
  while (id == 0) id = random_.Next();
  return id;
}

bool Exporter::Samples(std::string_view trace_id) const {
  return SamplesTrace(trace_id, options_.sample_per_million);
}

void Exporter::Take(SpanRecord span) {
  size_t queued = 0;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMaxQueued) {
      deps_.metrics.dropped.Increment();
      return;
    }
    queue_.push_back(std::move(span));
    queued = queue_.size();
    deps_.metrics.queued.Set(static_cast<double>(queued));
  }
  // The first span starts the wait for more spans, a full batch ends it.
  if (queued == 1 || queued == kMaxBatch) wake_.notify_one();
}

void Exporter::RunUntilStopped() {
  for (auto batch = NextBatch(); !batch.empty(); batch = NextBatch())
    Note(SendBatch(batch), batch.size());
  const std::lock_guard lock(mutex_);
  done_ = true;
  wake_.notify_all();
}

std::vector<SpanRecord> Exporter::NextBatch() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  wake_.wait_for(lock, kBatchDelay, [this] { return stopping_ || queue_.size() >= kMaxBatch; });
  const auto size = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
  const auto end = queue_.begin() + size;
  std::vector<SpanRecord> batch(std::make_move_iterator(queue_.begin()),
                                std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  deps_.metrics.queued.Set(static_cast<double>(queue_.size()));
  return batch;
}

Status Exporter::SendBatch(const std::vector<SpanRecord>& batch) {
  const auto request = MakeRequest(options_.origin, batch);
  Duration backoff = kMinBackoff;
  Status status;
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    const Deadline deadline = SendDeadline();
    if (deps_.clock.Now() >= deadline.at) return DeadlineExceeded("no time left before the end");
    status = deps_.sender->Send(request, deadline);
    if (status.ok() || !MayPass(status)) return status;
    if (!Pause(backoff)) return status;
    backoff = std::min(backoff * 2, kMaxBackoff);
  }
  return status;
}

Deadline Exporter::SendDeadline() const {
  const std::lock_guard lock(mutex_);
  if (stopping_) return {flush_until_};
  return {deps_.clock.Now() + kSendLimit, cancel_};
}

bool Exporter::Pause(Duration backoff) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, backoff, [this] { return stopping_; });
}

void Exporter::Note(const Status& status, size_t spans) {
  if (status.ok()) {
    deps_.metrics.sent.Increment(static_cast<double>(spans));
    if (!last_error_.empty())
      deps_.log.Info("exporting traces again", {KV("endpoint", options_.endpoint)});
    last_error_.clear();
    return;
  }
  deps_.metrics.failed.Increment(static_cast<double>(spans));
  lost_ += spans;
  const std::string error = ToString(status);
  const Clock::Time now = deps_.clock.Now();
  if (error == last_error_ && now - told_at_ < kTellAgain) return;
  deps_.log.Warn("cannot export traces, will try again",
                 {KV("endpoint", options_.endpoint), KV("err", error),
                  KV("lostSpans", std::exchange(lost_, 0))});
  last_error_ = error;
  told_at_ = now;
}

}  // namespace splitlet::trace
