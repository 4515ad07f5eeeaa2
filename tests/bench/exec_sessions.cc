#include "tests/bench/exec_sessions.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <string_view>

#include "libs/base/status.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

constexpr size_t kOpeners = 8;
constexpr std::string_view kLine = "what is told comes back, always\n";
constexpr std::string_view kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";

void SendAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;  // the client has left, as the next read shows
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

/// A connection of the server: collects the head of its request.
struct Connection {
  fs::Fd socket{-1};
  std::string head;
  bool switched = false;

  /// False: the client has left.
  bool Serve() {
    std::array<char, 16384> buffer;
    const ssize_t n = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return false;
    const std::string_view got(buffer.data(), static_cast<size_t>(n));
    if (switched) {
      SendAll(socket.get(), got);
      return true;
    }
    head += got;
    const auto end = head.find("\r\n\r\n");
    if (end == std::string::npos) return true;
    switched = true;
    SendAll(socket.get(), kSwitched);
    SendAll(socket.get(), std::string_view(head).substr(end + 4));
    return true;
  }
};

}  // namespace

EchoServer::EchoServer()
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(listener_.get(), any, length) == 0 && ::listen(listener_.get(), 1024) == 0);
  CHECK(::getsockname(listener_.get(), any, &length) == 0);
  port = ntohs(address.sin_port);
  Watch(listener_.get());
  Watch(stop_.get());
  thread_ = std::thread([this] { Run(); });
}

EchoServer::~EchoServer() {
  CHECK(::eventfd_write(stop_.get(), 1) == 0);
  thread_.join();
}

std::string EchoServer::Url() const { return fmt::format("http://127.0.0.1:{}", port); }

void EchoServer::Watch(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  CHECK(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0);
}

void EchoServer::Run() {
  std::map<int, Connection> connections;
  while (true) {
    std::array<epoll_event, 64> ready;
    const int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[static_cast<size_t>(i)].data.fd;
      if (descriptor == stop_.get()) return;
      if (descriptor == listener_.get()) {
        const int made = ::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC);
        if (made < 0) continue;
        connections[made].socket = fs::Fd(made);
        Watch(made);
      } else if (!connections[descriptor].Serve()) {
        connections.erase(descriptor);  // closing removes it from the epoll set
      }
    }
  }
}

ExecSessions::ExecSessions(size_t count, const Connect& connect) : sessions_(count) {
  const auto began = clock_.Now();
  std::atomic<size_t> next{0};
  {
    std::vector<std::jthread> openers;
    for (size_t t = 0; t < kOpeners; ++t)
      openers.emplace_back([&] {
        for (size_t i = next++; i < sessions_.size(); i = next++) sessions_[i] = connect();
      });
  }
  opened_ms_ = Ms((clock_.Now() - began).count());
}

bool ExecSessions::Sent(const Session& session) const {
  return session != nullptr && session->Write(kLine);
}

bool ExecSessions::CameBack(const Session& session) const {
  return session != nullptr && session->ReadUntil("\n") == kLine;
}

std::vector<double> ExecSessions::RoundTripsMs() {
  std::vector<double> took;
  silent_ = 0;
  for (const auto& session : sessions_) {
    const auto began = clock_.Now();
    if (Sent(session) && CameBack(session)) {
      took.push_back(Ms((clock_.Now() - began).count()));
    } else {
      ++silent_;
    }
  }
  return took;
}

double ExecSessions::AllAtOnceMs() {
  const auto began = clock_.Now();
  size_t back = 0;
  for (const auto& session : sessions_) (void)Sent(session);
  for (const auto& session : sessions_) back += CameBack(session) ? 1 : 0;
  silent_ = sessions_.size() - back;
  return Ms((clock_.Now() - began).count());
}

bool Upgraded(https::TestClient& client, const std::string& path) {
  const std::string answer = client.Ask(
      fmt::format("POST {} HTTP/1.1\r\nHost: node\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
                  "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io",
                  path),
      "\r\n\r\n");
  const bool switched = answer.find(" 101 ") != std::string::npos;
  if (!switched)
    std::fprintf(stderr, "no stream: %s\n", answer.empty() ? "no answer" : answer.c_str());
  return switched;
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

}  // namespace splitlet::bench
