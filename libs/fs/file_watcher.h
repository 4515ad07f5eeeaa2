#pragma once

/// Says that something below a path has changed; never what. A hint: the reader lists again and
/// compares. Threads: `on_change` runs on a thread of the watcher; post to your loop. Errors: at
/// Start by errno.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  /// Watches a directory (or a file's directory). It may not exist yet or vanish: then its nearest
  /// parent is watched.
  virtual Status Start(const std::string& path, std::function<void()> on_change) = 0;
};

/// inotify.
std::unique_ptr<FileWatcher> MakeInotifyWatcher();

}  // namespace splitlet::fs
