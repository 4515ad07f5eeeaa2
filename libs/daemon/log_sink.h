#pragma once

/// The sink of log lines: stderr, as klog's text or JSON, one line each. An own thread writes, so
/// that a caller never waits for a stopped reader or a full disk; instead the oldest lines are
/// dropped and counted. Write returns after a warning or error is written, so that it survives a
/// SIGKILL, unless the writer was stuck for `patience`. A value above 4 KiB is cut.
/// Threads: any; nothing fails.
/// Units: JSON `ts` is milliseconds since the epoch.
/// Source: docs/behaviour/logs-and-metrics.md, "Format of logs".

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/log_level.h"

namespace splitlet::daemon {

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string_view message;
  const std::vector<LogField>& fields;
};

struct LogOrigin {
  std::string process;
  int pid = 0;
};

/// I1121 22:53:35.123456    1234 pleg] "sandbox created" pod="default/web"
std::string FormatText(const LogLine& line, const LogOrigin& origin, WallTime at);
/// {"ts":1795301615123.456,"logger":"pleg","msg":"sandbox created","v":0,"pod":"default/web"};
/// errors have no `v`.
std::string FormatJson(const LogLine& line, const LogOrigin& origin, WallTime at);

/// Text in double quotes, with control characters, quotes and bytes that are not UTF-8 escaped.
std::string Quoted(std::string_view text);

class StderrSink final : public LogSink {
 public:
  struct Options {
    LogOrigin origin;
    bool json = false;
    LogLevel level = LogLevel::kInfo;
    Duration patience = std::chrono::milliseconds{100};
  };
  StderrSink(const Clock& clock, Options options);
  ~StderrSink() override;

  bool Enabled(LogLevel level) const override { return level >= level_; }
  LogLevel level() const { return level_; }
  /// Sets the level for all threads and returns the earlier one.
  LogLevel SetLevel(LogLevel level) { return level_.exchange(level); }
  void Write(LogLevel level, std::string_view message,
             const std::vector<LogField>& fields) override;

  struct LastError {
    std::string text;  // empty: none so far
    WallTime at;
  };
  LastError last_error() const;
  /// Number of lines that were never written.
  uint64_t dropped() const;
  /// Number of lines of this level, dropped ones included.
  uint64_t written(LogLevel level) const { return written_[static_cast<size_t>(level)]; }

 private:
  class Output;
  const Clock& clock_;
  const Options options_;
  std::atomic<LogLevel> level_;
  std::unique_ptr<Output> output_;
  mutable std::mutex mutex_;
  LastError last_error_;
  std::array<std::atomic<uint64_t>, 4> written_{};  // by level
};

}  // namespace splitlet::daemon
