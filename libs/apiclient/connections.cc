#include "libs/apiclient/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <optional>

namespace splitlet::apiclient {
namespace {

/// Tolerance between the kernel's times and ours.
constexpr Duration kSlack = std::chrono::milliseconds{50};

std::optional<ino_t> InodeOf(int socket) {
  struct stat about {};
  if (::fstat(socket, &about) != 0 || !S_ISSOCK(about.st_mode)) return std::nullopt;
  return about.st_ino;
}

std::optional<tcp_info> InfoOf(int socket) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (info.tcpi_state != TCP_ESTABLISHED) return std::nullopt;
  return info;
}

}  // namespace

void Connections::OnOpened(int socket) {
  if (const auto inode = InodeOf(socket)) opened_[socket] = *inode;
}

template <class Ends>
void Connections::EndIf(Ends ends) {
  for (auto it = opened_.begin(); it != opened_.end();) {
    const auto [socket, inode] = *it;
    if (InodeOf(socket) != inode) {
      it = opened_.erase(it);
      continue;
    }
    ++it;
    const auto info = InfoOf(socket);
    if (!info) continue;
    const Quiet quiet{.sent = std::chrono::milliseconds{info->tcpi_last_data_sent},
                      .received = std::chrono::milliseconds{info->tcpi_last_data_recv}};
    // libcurl reads the end of the connection and closes it.
    if (ends(quiet)) ::shutdown(socket, SHUT_RDWR);
  }
}

void Connections::EndUnanswered(Duration waited) {
  EndIf([waited](const Quiet& quiet) {
    return quiet.sent <= waited + kSlack && quiet.received + kSlack >= waited;
  });
}

void Connections::EndQuiet(Duration quiet) {
  EndIf([quiet](const Quiet& of) { return of.received >= quiet; });
}

}  // namespace splitlet::apiclient
