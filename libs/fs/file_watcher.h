#pragma once

/// Reports that something below a path changed, and for a directory the names of its changed
/// entries. A report is a hint: the caller reads the files itself.
/// Threads: the callbacks run on a thread of the watcher; post to your loop.
/// Errors: by errno, at Start and later; the caller starts the watcher again.

#include <functional>
#include <set>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Possible changes: entries of the watched directory by name, or anything at or below the path.
class Hint {
 public:
  /// Limit of the number of names; with more changes the caller reads the whole directory.
  static constexpr size_t kMostNames = 64;
  static Hint Anything() {
    Hint hint;
    hint.anything_ = true;
    return hint;
  }
  void Add(const std::string& name) {
    if (!anything_) names_.insert(name);
    if (names_.size() > kMostNames) *this = Anything();
  }
  void Add(const Hint& other) {
    if (other.anything_) *this = other;
    for (const auto& name : other.names_) Add(name);
  }
  bool anything() const { return anything_; }
  const std::set<std::string>& names() const { return names_; }
  bool empty() const { return !anything_ && names_.empty(); }

 private:
  bool anything_ = false;
  std::set<std::string> names_;
};

class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  struct Callbacks {
    std::function<void(const Hint& hint)> on_change;
    std::function<void(const Status& why)> on_lost;  // called when the watch has ended
  };
  /// Watches a directory, or the directory of a file. While it does not exist, its nearest existing
  /// parent is watched. Call again only after an error or on_lost.
  virtual Status Start(const std::string& path, Callbacks callbacks) = 0;
};

}  // namespace splitlet::fs
