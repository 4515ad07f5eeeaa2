#pragma once

/// Writes to a descriptor without blocking: bytes that its reader does not take yet are kept.
/// Threads: that of the io_context.
/// Errors:  of Write and `drained`: CANCELLED when the reader is gone, else by errno.
/// Source:  pipe(7); poll(2).

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::ctl {

class OutputPipe {
 public:
  /// `drained`: all kept bytes are written, or cannot be.
  OutputPipe(boost::asio::io_context& io, int fd, std::function<void(const Status&)> drained);

  /// The caller waits for idle() before it writes more.
  Status Write(std::string_view bytes);
  bool idle() const { return kept_.empty(); }

 private:
  Status WriteKept();
  void WaitForRoom();

  const int fd_;
  const std::function<void(const Status&)> drained_;
  boost::asio::posix::stream_descriptor room_;
  std::string kept_;
};

/// Restores a descriptor's flags at its end. Asio makes descriptors non-blocking, which also hits
/// the other programs on the same terminal.
class KeptFlags {
 public:
  explicit KeptFlags(int fd);
  ~KeptFlags();
  KeptFlags(const KeptFlags&) = delete;
  KeptFlags& operator=(const KeptFlags&) = delete;

 private:
  const int fd_, flags_;
};

}  // namespace splitlet::ctl
