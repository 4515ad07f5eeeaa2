#pragma once

/// Says that something below a path has changed; never what. A hint: the reader lists again.
/// Threads: the callbacks run on a thread of the watcher; post to your loop.
/// Errors: by errno, at Start and later; who wants to go on watching starts it again.

#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  struct Callbacks {
    std::function<void()> on_change;
    std::function<void(const Status& why)> on_lost;  // nothing is watched any more
  };
  /// Watches a directory (or a file's directory). It may not exist yet or vanish: then its nearest
  /// parent is watched. Again after an error or on_lost, and only then.
  virtual Status Start(const std::string& path, Callbacks callbacks) = 0;
};

}  // namespace splitlet::fs
