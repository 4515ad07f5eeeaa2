#pragma once

/// What a stream has written and the connection has not yet sent.
/// Threads: any.
/// Errors:  none; what is put once nobody reads is refused.

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::https {

class ChunkQueue {
 public:
  static constexpr size_t kRoom = 256 << 10;

  enum class Put { kGone, kQueued, kWakes };  // kWakes: the connection has to be told
  Put Add(std::string_view bytes, bool last) {
    const std::lock_guard lock(mutex_);
    if (gone_ || ended_) return Put::kGone;
    if (bytes.empty() && !last) return Put::kQueued;
    bytes_ += bytes;
    ended_ = last;
    return std::exchange(told_, true) ? Put::kQueued : Put::kWakes;
  }
  bool WaitForRoom() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gone_ || bytes_.size() + sending_ < kRoom; });
    return !gone_;
  }
  bool gone() const {
    const std::lock_guard lock(mutex_);
    return gone_;
  }

  // Of the connection.
  struct Taken {
    std::string bytes;
    bool last = false;  // nothing comes after it
  };
  Taken Take() {
    const std::lock_guard lock(mutex_);
    sending_ = bytes_.size();
    told_ = false;
    changed_.notify_all();
    return {std::exchange(bytes_, {}), ended_};
  }
  void SetGone() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    bytes_.clear();
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  size_t sending_ = 0;
  bool told_ = false, ended_ = false, gone_ = false;
};

}  // namespace splitlet::https
