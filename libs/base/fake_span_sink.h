#pragma once

/// Keeps every span, for tests; acts as the process's sink while it exists. Ids count from 1.
/// Threads: any.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "libs/base/span.h"

namespace splitlet {

class FakeSpanSink final : public SpanSink {
 public:
  /// `clock` outlives it.
  explicit FakeSpanSink(const Clock& clock) : clock_(clock) {}

  WallTime Now() const override { return clock_.WallNow(); }
  uint64_t NewSpanId() override { return ++last_id_; }
  bool Samples(std::string_view) const override { return samples; }
  void Take(SpanRecord span) override {
    const std::lock_guard lock(mutex_);
    spans_.push_back(std::move(span));
  }
  std::vector<SpanRecord> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  bool samples = true;

 private:
  const Clock& clock_;
  std::atomic<uint64_t> last_id_ = 0;
  mutable std::mutex mutex_;
  std::vector<SpanRecord> spans_;
};

/// Sets a sink for the scope's lifetime.
class SpanSinkScope {
 public:
  explicit SpanSinkScope(std::shared_ptr<SpanSink> sink) { SpanSink::SetCurrent(std::move(sink)); }
  ~SpanSinkScope() { SpanSink::SetCurrent(nullptr); }
  SpanSinkScope(const SpanSinkScope&) = delete;
  SpanSinkScope& operator=(const SpanSinkScope&) = delete;
};

}  // namespace splitlet
