#pragma once

/// A value that tasks on strands share with the loop, where a task needs what the loop has answered
/// and cannot wait for it. State that only the loop uses needs none of this.
/// Threads: any.
/// Errors:  none.
/// Source:  docs/design.md, "Threads and time".

#include <mutex>

namespace splitlet::exec {

template <class T>
class SharedValue {
 public:
  /// Returns what `use` returns for the value. `use` is short and calls nothing that may use the
  /// value again.
  template <class Use>
  auto With(Use use) {
    const std::lock_guard lock(mutex_);
    return use(value_);
  }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace splitlet::exec
