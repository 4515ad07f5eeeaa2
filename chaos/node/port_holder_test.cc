#include "chaos/node/port_holder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>
#include <vector>

#include "chaos/node/flood.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

int ConnectTo(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

TEST(PortHolder, HasItsPortUntilItGoesAndSendsGarbage) {
  auto holder = PortHolder::Take(0);
  ASSERT_TRUE(holder.ok()) << holder.status();
  const uint16_t port = (*holder)->port();
  EXPECT_FALSE(PortHolder::Take(port).ok());
  const int first = ConnectTo(port), second = ConnectTo(port);
  std::array<char, 16> word{};
  EXPECT_EQ(recv(first, word.data(), 4, MSG_WAITALL), 4);
  EXPECT_EQ(std::string(word.data(), 4), "INFO");
  holder->reset();
  EXPECT_LE(recv(second, word.data(), word.size(), 0), 0) << "it got nothing to the end";
  close(first), close(second);
  EXPECT_TRUE(PortHolder::Take(port).ok());
}

/// A process that takes connections and never answers.
TEST(Floods, OpenConnectionsAndGoOnWhateverIsRefused) {
  const stdfs::path folder = stdfs::temp_directory_path() / ("flood-" + std::to_string(getpid()));
  stdfs::create_directories(folder / "gc");
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "gc/rpc.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 128), 0);
  const RealClock clock;
  FloodCounts counts;
  std::atomic<bool> stopped = false;
  std::jthread flood([&] {
    Flood({.run_dir = folder,
           .process = "gc",
           .clock = clock,
           .stopped = [&] { return stopped.load(); }},
          counts);
  });
  std::vector<int> taken;
  while (taken.size() < 300) taken.push_back(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  while (counts.refused == 0) poll(nullptr, 0, 10);  // no list gets an answer
  stopped = true;
  flood.join();
  EXPECT_GE(counts.connections, 290u);
  EXPECT_EQ(counts.lists, 0u);
  for (const int fd : taken) close(fd);
  close(listener);
  stdfs::remove_all(folder);
}

}  // namespace
}  // namespace splitlet::chaos
