#include "libs/rpc/refusals.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace splitlet::rpc {
namespace {

/// Never waits: a caller that does not read is disconnected.
bool Send(int fd, std::string_view bytes) {
  return bytes.empty() || send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                              static_cast<ssize_t>(bytes.size());
}

}  // namespace

void Refusals::Add(SocketFd fd, uint32_t uid, const Status& why) {
  const auto of_user = std::ranges::count(callers_, uid, &Caller::uid);
  if (of_user >= kRefusalsOfUser || std::ssize(callers_) >= kRefusalsOfAll) return;
  if (!Send(fd.get(), RefusedCalls::Greeting())) return;
  callers_.push_back({std::move(fd), uid, clock_.Now() + kRefusalLimit, RefusedCalls(why)});
}

void Refusals::AppendTo(std::vector<pollfd>& fds) const {
  for (const Caller& caller : callers_) fds.push_back({caller.fd.get(), POLLIN, 0});
}

void Refusals::Serve(std::span<const pollfd> polled) {
  const Clock::Time now = clock_.Now();
  for (size_t i = polled.size(); i > 0; --i) {
    Caller& caller = callers_[i - 1];
    const bool stays = polled[i - 1].revents == 0 || Answer(caller);
    if (!stays || now >= caller.end)
      callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
}

bool Refusals::Answer(Caller& caller) {
  std::array<char, 4096> buffer;
  while (!caller.calls.over()) {
    const ssize_t size = recv(caller.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0 && errno == EAGAIN;
    const std::string answer = caller.calls.Take({buffer.data(), static_cast<size_t>(size)});
    if (!Send(caller.fd.get(), answer)) return false;
  }
  return false;
}

int Refusals::PatienceMs() const {
  if (callers_.empty()) return -1;
  const Duration left = std::max(callers_.front().end - clock_.Now(), Duration{0});
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace splitlet::rpc
