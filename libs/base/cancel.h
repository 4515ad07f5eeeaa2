#pragma once

/// Early end of a call: the holder calls Cancel(), and each waiter gets a callback.
/// Threads: any; nothing fails.

#include <functional>
#include <map>
#include <mutex>

namespace splitlet {

class CancelToken {
 public:
  /// Runs the callbacks on this thread, once; later calls do nothing.
  void Cancel() {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return;
    cancelled_ = true;
    for (const auto& [id, callback] : callbacks_) callback();
  }
  bool cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  /// Runs the callback immediately if the token is cancelled already. The callback must not touch
  /// this token.
  int Add(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    if (cancelled_) {
      callback();
      return 0;
    }
    callbacks_[++last_] = std::move(callback);
    return last_;
  }
  /// After Remove has returned, the callback does not run.
  void Remove(int id) {
    const std::lock_guard lock(mutex_);
    callbacks_.erase(id);
  }

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  int last_ = 0;
  std::map<int, std::function<void()>> callbacks_;
};

}  // namespace splitlet
