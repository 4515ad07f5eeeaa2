#pragma once

/// Waits for a log to change.
/// Threads: one at a time; it blocks.
/// Errors: none; a folder that cannot be watched is polled.

#include <memory>
#include <string>

namespace splitlet::logs {

/// Waits until something in a file's folder has changed.
class LogWatch {
 public:
  virtual ~LogWatch() = default;
  /// True: something may have changed. False: nothing has for one second, or a signal came.
  virtual bool Wait() = 0;
};
/// Uses inotify; otherwise polls a few times a second.
std::unique_ptr<LogWatch> MakeLogWatch(const std::string& path);

}  // namespace splitlet::logs
