#pragma once

/// Says that something below a path has changed, and of a directory which of its entries. A hint:
/// the reader looks for itself.
/// Threads: the callbacks run on a thread of the watcher; post to your loop.
/// Errors: by errno, at Start and later; who wants to go on watching starts it again.

#include <functional>
#include <set>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// What may have changed: entries of the watched directory by name, or anything at or below the
/// path.
class Hint {
 public:
  /// So many names are told; of more changes at once a reader does better to look at all.
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
    std::function<void(const Status& why)> on_lost;  // nothing is watched any more
  };
  /// Watches a directory (or a file's directory). It may not exist yet or vanish: then its nearest
  /// parent is watched. Again after an error or on_lost, and only then.
  virtual Status Start(const std::string& path, Callbacks callbacks) = 0;
};

}  // namespace splitlet::fs
