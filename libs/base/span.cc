#include "libs/base/span.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "libs/base/trace.h"

namespace splitlet {
namespace {

struct Installed {
  std::atomic<bool> any = false;
  std::mutex mutex;
  std::shared_ptr<SpanSink> sink;
};

Installed& TheInstalled() {
  static Installed installed;
  return installed;
}

}  // namespace

std::shared_ptr<SpanSink> SpanSink::Current() {
  Installed& installed = TheInstalled();
  if (!installed.any.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(installed.mutex);
  return installed.sink;
}

void SpanSink::SetCurrent(std::shared_ptr<SpanSink> sink) {
  Installed& installed = TheInstalled();
  {
    const std::lock_guard lock(installed.mutex);
    installed.any.store(sink != nullptr, std::memory_order_release);
    installed.sink.swap(sink);
  }
  // The earlier sink is destroyed here, outside of the lock.
}

Span::Span(std::string_view name, SpanKind kind, std::string traceparent)
    : traceparent_(std::move(traceparent)) {
  auto sink = SpanSink::Current();
  if (sink == nullptr || !IsSampled(traceparent_)) return;
  record_.trace_id = TraceIdOf(traceparent_);
  record_.parent_id = SpanIdOf(traceparent_);
  record_.span_id = fmt::format("{:016x}", sink->NewSpanId());
  traceparent_ = Traceparent(record_.trace_id, record_.span_id, true);
  Record(name, kind, std::move(sink));
}

Span Span::Begin(std::string_view name, Random& random) {
  Span span;
  auto sink = SpanSink::Current();
  span.traceparent_ = MakeTraceparent(random, false);
  const std::string trace_id = TraceIdOf(span.traceparent_);
  if (sink == nullptr || !sink->Samples(trace_id)) return span;
  span.record_.trace_id = trace_id;
  span.record_.span_id = SpanIdOf(span.traceparent_);
  span.traceparent_ = Traceparent(trace_id, span.record_.span_id, true);
  span.Record(name, SpanKind::kInternal, std::move(sink));
  return span;
}

Span::Span(Span&& other) noexcept
    : sink_(std::move(other.sink_)),
      traceparent_(std::move(other.traceparent_)),
      record_(std::move(other.record_)) {
  other.sink_ = nullptr;
}

void Span::Record(std::string_view name, SpanKind kind, std::shared_ptr<SpanSink> sink) {
  record_.name = name;
  record_.kind = kind;
  record_.begin = sink->Now();
  sink_ = std::move(sink);
}

void Span::Set(std::string_view key, std::string value) {
  if (recorded()) record_.attributes.emplace_back(key, std::move(value));
}

void Span::End(const Status& status) {
  const auto sink = std::exchange(sink_, nullptr);
  if (sink == nullptr) return;
  record_.end = sink->Now();
  record_.status = status;
  sink->Take(std::move(record_));
}

}  // namespace splitlet
