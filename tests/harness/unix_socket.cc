#include "tests/harness/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "libs/base/status.h"

namespace splitlet::harness {

ListeningSocket::ListeningSocket(const std::string& path, int queue)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{AF_UNIX, {}};
  CHECK(path.size() < sizeof address.sun_path, "the path {} is too long", path);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path.c_str());
  CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind {}: {}",
        path, std::strerror(errno));
  CHECK(listen(fd_, queue) == 0, "listen at {}: {}", path, std::strerror(errno));
}

ListeningSocket::~ListeningSocket() { Close(); }

void ListeningSocket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace splitlet::harness
