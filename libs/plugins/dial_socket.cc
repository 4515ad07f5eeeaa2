#include "libs/plugins/dial_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace splitlet::plugins {
namespace {

WallTime ModifiedAt(const struct stat& info) {
  return WallTime{std::chrono::seconds{info.st_mtim.tv_sec} + Duration{info.st_mtim.tv_nsec}};
}

/// The file of the socket, opened by name only.
StatusOr<fs::Fd> OpenSocketFile(const PluginSocket& socket) {
  fs::Fd file(::open(socket.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.ok()) return ErrnoStatus(errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno);
  if (S_ISLNK(info.st_mode)) return FailedPrecondition("it is a link, not a socket");
  if (!S_ISSOCK(info.st_mode)) return FailedPrecondition("it is not a socket");
  // Another user would be asked where a driver of this node is, and send pod-worker there.
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return PermissionDenied("it belongs to user {}", info.st_uid);
  if (info.st_ino != socket.inode || ModifiedAt(info) != socket.created)
    return Aborted("another socket has taken its place");
  return file;
}

}  // namespace

StatusOr<fs::Fd> DialSocket(const PluginSocket& socket) {
  if (socket.path.size() > kMaxSocketPath)
    return InvalidArgument("the path has {} bytes, the address of a unix socket takes {}",
                           socket.path.size(), kMaxSocketPath);
  const auto file = OpenSocketFile(socket);
  if (!file.ok()) return file.status();
  fs::Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection.ok()) return ErrnoStatus(errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(file->get());
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return connection;
  if (errno == EAGAIN) return Unavailable("its queue of connections is full");
  return ErrnoStatus(errno);
}

}  // namespace splitlet::plugins
