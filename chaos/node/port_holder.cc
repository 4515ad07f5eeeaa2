#include "chaos/node/port_holder.h"

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
constexpr size_t kMaxClients = 200;
constexpr std::string_view kGarbage = "INFO {\"server_id\":\x01\xff]]\r\n-ERR 'who are you'\r\n";

sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

}  // namespace

StatusOr<std::unique_ptr<PortHolder>> PortHolder::Take(uint16_t port) {
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
  return std::unique_ptr<PortHolder>(new PortHolder(fd, ntohs(address.sin_port)));
}

PortHolder::PortHolder(int fd, uint16_t port)
    : fd_(fd), port_(port), thread_([this](const std::stop_token& stop) { Serve(stop); }) {}

PortHolder::~PortHolder() {
  thread_.request_stop();
  thread_.join();
  close(fd_);
}

/// Every second client waits for bytes that do not come.
void PortHolder::Serve(const std::stop_token& stop) const {
  std::vector<int> clients;
  bool sends = true;
  while (!stop.stop_requested()) {
    pollfd listener{.fd = fd_, .events = POLLIN, .revents = 0};
    poll(&listener, 1, kPollMs);
    const int client = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) continue;
    if (sends) send(client, kGarbage.data(), kGarbage.size(), MSG_NOSIGNAL);
    sends = !sends;
    clients.push_back(client);
    if (clients.size() < kMaxClients) continue;
    close(clients.front());
    clients.erase(clients.begin());
  }
  for (const int client : clients) close(client);
}

}  // namespace splitlet::chaos
