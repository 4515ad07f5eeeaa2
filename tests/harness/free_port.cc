#include "tests/harness/free_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::harness {
namespace {

constexpr int kFirst = 10'000, kCount = 15'000;
constexpr int kOfOneProcess = 16;  // further calls reach the ports of the next process

bool IsFree(uint16_t port) {
  const fs::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

uint16_t FreePort() {
  static std::atomic<int> calls{0};
  for (int tries = 0; tries < kCount; ++tries) {
    const auto port = static_cast<uint16_t>(kFirst + (getpid() * kOfOneProcess + calls++) % kCount);
    if (IsFree(port)) return port;
  }
  CHECK(false, "no port between {} and {} is free", kFirst, kFirst + kCount);
  return 0;
}

}  // namespace splitlet::harness
