#pragma once

/// A sink that discards the log of libraries in a benchmark. Any thread.

#include <string_view>
#include <vector>

#include "libs/base/log.h"

namespace splitlet::bench {

class NoLog final : public LogSink {
 public:
  bool Enabled(LogLevel) const override { return false; }
  void Write(LogLevel, std::string_view, const std::vector<LogField>&) override {}
};

}  // namespace splitlet::bench
