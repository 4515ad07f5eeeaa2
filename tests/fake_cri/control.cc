#include "tests/fake_cri/control.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace splitlet::fake_cri {
namespace {

struct Connection {
  int fd;
  ~Connection() {
    if (fd >= 0) close(fd);
  }
};

StatusCode CodeOf(const std::string& name) {
  for (int code = 1; code <= 16; ++code) {
    if (name == CodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  }
  return StatusCode::kUnknown;
}

StatusOr<std::string> Exchange(int fd, const std::string& line) {
  const std::string out = line + "\n";
  if (send(fd, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
    return ErrnoStatus(errno);
  std::string answer;
  char buffer[4096];
  while (answer.find('\n') == std::string::npos) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) return Unavailable("fake-cri does not answer");
    answer.append(buffer, static_cast<size_t>(got));
  }
  answer.resize(answer.find('\n'));
  return answer;
}

}  // namespace

StatusOr<std::string> Control::Send(const std::string& line) {
  const Connection connection{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval limit{10, 0};
  setsockopt(connection.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path)
    return InvalidArgument("the path {} is too long", socket_);
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (connect(connection.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Unavailable("cannot connect to {}", socket_);
  }
  ASSIGN_OR_RETURN(const std::string answer, Exchange(connection.fd, line), "{}", line);
  if (answer == "OK") return std::string();
  if (answer.starts_with("OK ")) return answer.substr(3);
  const size_t space = answer.find(' ', 6);
  const std::string code = answer.size() > 6 ? answer.substr(6, space - 6) : "";
  return MakeStatus(CodeOf(code), space == std::string::npos ? "" : answer.substr(space + 1));
}

Status Control::ExitContainer(const std::string& id, int code) {
  return Send(fmt::format("exit-id {} {}", id, code)).status();
}

Status Control::ExitContainer(const std::string& pod, const std::string& container, int code) {
  return Send(fmt::format("exit {} {} {}", pod, container, code)).status();
}

Status Control::Fault(const std::string& method, const std::string& pod, const std::string& term) {
  return Send(fmt::format("fault {} {} {}", method, pod, term)).status();
}

Status Control::ClearFaults() { return Send("faults off").status(); }

Status Control::Behave(const std::string& pod, const std::string& container,
                       const std::string& behaviour) {
  return Send(fmt::format("behave {} {} {}", pod, container, behaviour)).status();
}

Status Control::AddUnmanagedPod(const std::string& name, const std::string& uid) {
  return Send(fmt::format("unmanaged {} {}", name, uid)).status();
}

Status Control::StopEverything() { return Send("stop-everything").status(); }

Status Control::SetDown(bool down) { return Send(down ? "down on" : "down off").status(); }

StatusOr<std::string> Control::List() { return Send("list"); }

}  // namespace splitlet::fake_cri
