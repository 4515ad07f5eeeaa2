#pragma once

/// Structured logging: a constant lower-case message and fields. libs/daemon sets up the sink.
///   log.Info("sandbox created", {{"pod", "default/web"}, {"sandboxID", id}});
/// Threads: any; nothing fails. Field names are the kubelet's (`pod`, `podUID`, `err`).
/// Source: docs/design.md, "Logs and metrics"; docs/behaviour/logs-and-metrics.md.

#include <fmt/format.h>

#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

struct LogField {
  std::string key;
  std::string value;
};

/// KV("attempt", 3), KV("error", status): anything that fmt can print.
template <class T>
LogField KV(std::string_view key, const T& value) {
  return {std::string(key), fmt::format("{}", value)};
}

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool Enabled(LogLevel level) const = 0;
  virtual void Write(LogLevel level, std::string_view message,
                     const std::vector<LogField>& fields) = 0;
};

/// A cheap value: a reference to a sink that outlives the Log.
class Log {
 public:
  explicit Log(LogSink& sink) : sink_(&sink) {}

  /// Error: a person must act. Warn: degraded, and heals without a person. Info: a pod or process
  /// changed state. Debug: each call.
  void Error(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kError, message, fields);
  }
  void Warn(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kWarn, message, fields);
  }
  void Info(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kInfo, message, fields);
  }
  void Debug(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kDebug, message, fields);
  }
  void At(LogLevel level, std::string_view message,
          const std::vector<LogField>& fields = {}) const {
    Write(level, message, fields);
  }
  /// For an error that no caller can use: one Warn line.
  void LogIfError(const Status& status, std::string_view what) const {
    if (!status.ok()) Warn("action failed", {KV("action", what), KV("err", status)});
  }

 private:
  void Write(LogLevel level, std::string_view message, const std::vector<LogField>& fields) const {
    if (sink_->Enabled(level)) sink_->Write(level, message, fields);
  }
  LogSink* sink_;
};

/// Keeps every line, for tests.
class FakeLogSink final : public LogSink {
 public:
  struct Line {
    LogLevel level;
    std::string message;
    std::vector<LogField> fields;
  };
  bool Enabled(LogLevel) const override { return true; }
  void Write(LogLevel level, std::string_view message,
             const std::vector<LogField>& fields) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back({level, std::string(message), fields});
  }
  std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace splitlet
