#include "ctl/session/output_pipe.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace splitlet::ctl {
namespace {

/// A write of at most PIPE_BUF bytes never waits where poll says that the pipe has room.
bool HasRoom(int fd) {
  struct pollfd entry {
    .fd = fd, .events = POLLOUT, .revents = 0
  };
  return ::poll(&entry, 1, 0) != 0;  // the following write reports an error
}

}  // namespace

OutputPipe::OutputPipe(boost::asio::io_context& io, int fd,
                       std::function<void(const Status&)> drained)
    : fd_(fd), drained_(std::move(drained)), room_(io) {}

Status OutputPipe::Write(std::string_view bytes) {
  const bool waits = !idle();
  kept_.append(bytes);
  if (waits) return OkStatus();
  const Status written = WriteKept();
  if (written.ok() && !idle()) WaitForRoom();
  return written;
}

Status OutputPipe::WriteKept() {
  size_t done = 0;
  while (done < kept_.size() && HasRoom(fd_)) {
    const size_t size = std::min<size_t>(kept_.size() - done, PIPE_BUF);
    const ssize_t wrote = ::write(fd_, kept_.data() + done, size);
    if (wrote >= 0) {
      done += static_cast<size_t>(wrote);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno == EPIPE) {
      return Cancelled("the command's output was closed");
    } else if (errno != EINTR) {
      return ErrnoStatus(errno);
    }
  }
  kept_.erase(0, done);
  return OkStatus();
}

void OutputPipe::WaitForRoom() {
  boost::system::error_code error;
  if (!room_.is_open()) {
    const int own = ::dup(fd_);  // the descriptor closes it
    if (own < 0) return drained_(ErrnoStatus(errno));
    room_.assign(own, error);
    if (error) return drained_(Unavailable("{}", error.message()));
  }
  room_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                   [this](const boost::system::error_code& failed) {
                     if (failed == boost::asio::error::operation_aborted) return;
                     const Status written =
                         failed ? Unavailable("{}", failed.message()) : WriteKept();
                     if (written.ok() && !idle()) return WaitForRoom();
                     kept_.clear();
                     drained_(written);
                   });
}

KeptFlags::KeptFlags(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {}

KeptFlags::~KeptFlags() {
  if (flags_ >= 0) static_cast<void>(::fcntl(fd_, F_SETFL, flags_) == 0);
}

}  // namespace splitlet::ctl
