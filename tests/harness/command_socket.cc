#include "tests/harness/command_socket.h"

#include <sys/socket.h>

#include <algorithm>

#include "libs/fs/fd.h"

namespace splitlet::harness {
namespace {

std::string ReadLine(int fd) {
  std::string line;
  char buffer[4096];
  while (line.find('\n') == std::string::npos) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    line.append(buffer, static_cast<size_t>(got));
  }
  line.resize(std::min(line.find('\n'), line.size()));
  return line;
}

void Write(int fd, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

}  // namespace

void ServeCommand(int listener,
                  const std::function<StatusOr<std::string>(const std::string& line)>& run) {
  const fs::Fd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  const auto answer = run(ReadLine(client.get()));
  Write(client.get(), answer.ok() ? fmt::format("OK {}\n", *answer)
                                  : fmt::format("ERROR {} {}\n", CodeName(answer.status().code()),
                                                Message(answer.status())));
}

}  // namespace splitlet::harness
