#pragma once

/// Bytes that a stream has written but the connection has not sent yet. The stream fills one buffer
/// while the connection sends the other. Both keep their memory, so that a long stream allocates
/// nothing.
/// Threads: any.
/// Errors:  none; bytes are refused once the reader has left.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::https {

class ChunkQueue {
 public:
  /// Bytes reserved before a buffer's content for the head of a chunk: digits and a line break.
  static constexpr size_t kHead = 16 + 2;

  enum class Put { kGone, kQueued, kWakes };  // kWakes: the caller must wake the connection
  Put Add(std::string_view bytes, bool last) {
    const std::lock_guard lock(mutex_);
    if (gone_ || ended_) return Put::kGone;
    if (bytes.empty() && !last) return Put::kQueued;
    if (buffer_.empty() && !bytes.empty()) buffer_.assign(kHead, ' ');
    buffer_ += bytes;
    ended_ = last;
    return std::exchange(told_, true) ? Put::kQueued : Put::kWakes;
  }
  /// Waits until the filling buffer holds fewer bytes than that.
  bool WaitForRoom(size_t below) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return gone_ || buffer_.size() < below; });
    return !gone_;
  }
  bool gone() const { return gone_; }  // called for each line

  // Used by the connection.

  /// Swaps `buffer`, which is empty or begins with kHead bytes, for the filled one. True: it is the
  /// last.
  bool Take(std::string& buffer) {
    const std::lock_guard lock(mutex_);
    buffer.clear();
    buffer_.swap(buffer);
    told_ = false;
    changed_.notify_all();
    return ended_;
  }
  void SetGone() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    buffer_ = {};
    changed_.notify_all();
  }
  /// Turns the taken, non-empty buffer into a chunk in place. Returns the offset of its start.
  static size_t MakeChunk(std::string& buffer) {
    const std::string head = fmt::format("{:x}\r\n", buffer.size() - kHead);
    const size_t begin = kHead - head.size();
    buffer.replace(begin, head.size(), head);
    buffer += "\r\n";
    return begin;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string buffer_;
  bool told_ = false, ended_ = false;
  std::atomic<bool> gone_{false};  // written under mutex
};

}  // namespace splitlet::https
