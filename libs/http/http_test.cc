#include "libs/http/http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "libs/base/cancel.h"

namespace splitlet::http {
namespace {

/// Reads the head of each request and has `serve` answer it; one connection at a time.
class Server {
 public:
  using Serve = std::function<void(const std::string& request, int connection)>;
  explicit Server(Serve serve) : serve_(std::move(serve)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 8) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string Url(const char* scheme = "http", const char* host = "127.0.0.1") const {
    return fmt::format("{}://{}:{}/hook", scheme, host, port);
  }
  uint16_t port = 0;
  std::atomic<int> requests{0};

 private:
  void Run() {
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char buffer[8192];
      const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
      ++requests;
      if (n > 0) serve_(std::string(buffer, static_cast<size_t>(n)), connection);
      ::close(connection);
    }
  }
  const Serve serve_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

bool Send(int connection, const std::string& text) {
  return ::send(connection, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
}
Server::Serve Says(const std::string& head) {
  return [head](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 " + head + "\r\nContent-Length: 0\r\n\r\n");
  };
}

class ToPod : public testing::Test {
 protected:
  StatusOr<Answer> Get(const std::string& url, Duration timeout = 20s) {
    return Client(clock_).Call({.url = url,
                                .headers = headers,
                                .body = {},
                                .max_bytes = 10,
                                .to_pod = true,
                                .headers_only = headers_only},
                               After(clock_, timeout));
  }
  std::vector<std::string> headers;
  bool headers_only = true;
  const RealClock clock_;
};

TEST_F(ToPod, AnyCodeIsAnAnswer) {
  const Server server(Says("500 No"));
  const auto answer = Get(server.Url());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 500);
}

TEST_F(ToPod, WithTheHeadersItIsOverThoughTheBodyNeverEnds) {
  std::atomic<bool> stop{false};
  const Server server([&stop](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
    char byte = 0;
    while (!stop && ::recv(connection, &byte, 1, 0) > 0) {
    }
  });
  const auto answer = Get(server.Url());
  stop = true;
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 200);
}

TEST_F(ToPod, OfAGigabyteTheFirstBytesAreKept) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 1024 && Send(connection, block); ++i) {
    }
  });
  headers_only = false;
  const auto answer = Get(server.Url());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "xxxxxxxxxx");
}

TEST_F(ToPod, HeadersThatNeverEndEndAtTheDeadline) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 200 OK\r\n");
    while (Send(connection, "X-Drip: 1\r\n")) {
    }
  });
  const auto answer = Get(server.Url(), 300ms);
  EXPECT_FALSE(answer.ok());
}

TEST_F(ToPod, ARedirectIsFollowedOnItsHostOnly) {
  Server last(Says("204 Last"));
  Server first([&last](const std::string& request, int connection) {
    const bool same = request.find("X-Same") != std::string::npos;
    Send(connection, fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
                                 last.Url("http", same ? "127.0.0.1" : "127.0.0.2")));
  });
  EXPECT_EQ(Get(first.Url())->code, 302);
  EXPECT_EQ(last.requests, 0);
  headers = {"X-Same: 1"};
  EXPECT_EQ(Get(first.Url())->code, 204);
}

TEST_F(ToPod, RedirectsWithoutEndAreAnError) {
  Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(Get(server.Url()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.requests, 11);
}

TEST_F(ToPod, AServerWithoutTlsIsTold) {
  const Server server(Says("400 Bad Request"));
  EXPECT_EQ(Get(server.Url("https")).status().code(), StatusCode::kUnimplemented);
}

TEST_F(ToPod, ItIsGivenUpWhenNobodyWaitsAnyMore) {
  const Server server([](const std::string&, int connection) {
    char byte = 0;
    while (::recv(connection, &byte, 1, 0) > 0) {
    }
  });
  const auto cancel = std::make_shared<CancelToken>();
  std::thread canceller([&] {
    while (server.requests == 0) std::this_thread::yield();
    cancel->Cancel();
  });
  const auto answer = Client(clock_).Call(
      {.url = server.Url(), .headers = {}, .body = {}, .max_bytes = 10, .to_pod = true},
      Deadline{clock_.Now() + 20s, cancel});
  canceller.join();
  EXPECT_EQ(answer.status().code(), StatusCode::kCancelled);
}

TEST(Http, TheHostOfAPlace) {
  EXPECT_EQ(HostOf("http://host:80"), "host");
  EXPECT_EQ(HostOf("https://[::1]:443"), "[::1]");
}

}  // namespace
}  // namespace splitlet::http
