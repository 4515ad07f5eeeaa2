#include "chaos/node/stranger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

namespace splitlet::chaos {
namespace {

constexpr int kPollMs = 50;
constexpr size_t kMostGuests = 200;
constexpr std::string_view kNonsense = "INFO {\"server_id\":\x01\xff]]\r\n-ERR 'who are you'\r\n";

sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

}  // namespace

StatusOr<std::unique_ptr<Stranger>> Stranger::Take(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return ErrnoStatus(errno);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(fd, Generic(address), length) != 0 || listen(fd, 16) != 0 ||
      getsockname(fd, Generic(address), &length) != 0) {
    const Status failed = ErrnoStatus(errno);
    close(fd);
    return failed;
  }
  return std::unique_ptr<Stranger>(new Stranger(fd, ntohs(address.sin_port)));
}

Stranger::Stranger(int fd, uint16_t port)
    : fd_(fd), port_(port), thread_([this](const std::stop_token& stop) { Serve(stop); }) {}

Stranger::~Stranger() {
  thread_.request_stop();
  thread_.join();
  close(fd_);
}

/// Each second guest waits for a word that does not come.
void Stranger::Serve(const std::stop_token& stop) const {
  std::vector<int> guests;
  bool speaks = true;
  while (!stop.stop_requested()) {
    pollfd listener{.fd = fd_, .events = POLLIN, .revents = 0};
    poll(&listener, 1, kPollMs);
    const int guest = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (guest < 0) continue;
    if (speaks) send(guest, kNonsense.data(), kNonsense.size(), MSG_NOSIGNAL);
    speaks = !speaks;
    guests.push_back(guest);
    if (guests.size() < kMostGuests) continue;
    close(guests.front());
    guests.erase(guests.begin());
  }
  for (const int guest : guests) close(guest);
}

}  // namespace splitlet::chaos
