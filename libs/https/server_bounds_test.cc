#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <list>
#include <thread>

#include "libs/http/test_server.h"
#include "libs/https/server.h"
#include "libs/https/test_client.h"

namespace splitlet::https {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kMiB = 1 << 20;

/// Bounds of the memory that clients can make a server use, over TLS and plain.
class ServerBounds : public testing::TestWithParam<bool> {
 protected:
  void Serve(ServerOptions options, Handler handler) {
    options.tls = GetParam();
    auto started = StartServer(std::move(options), std::move(handler));
    CHECK(started.ok(), "{}", ToString(started.status()));
    server_ = *std::move(started);
    if (!GetParam()) return;
    const TestIdentity identity({});
    server_->SetTls(*MakeTlsContext({}, identity.certificate_pem(), identity.key_pem(), ""));
  }
  void ServeEmpty(const ServerOptions& options = {}) {
    Serve(options,
          [](const Request&, const std::shared_ptr<Responder>& responder) { responder->Send({}); });
  }
  std::unique_ptr<TestClient> Connect() {
    auto client = std::make_unique<TestClient>(server_->port());
    if (GetParam()) EXPECT_TRUE(client->Handshake({}));
    return client;
  }
  static void Wait(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) ::poll(nullptr, 0, 5);
    EXPECT_TRUE(holds());
  }

  std::unique_ptr<Server> server_;
};
INSTANTIATE_TEST_SUITE_P(Wires, ServerBounds, testing::Bool(),
                         [](const auto& tls) { return tls.param ? "Tls" : "Plain"; });

std::string MiBOf(const std::string& text) {
  std::string all;
  while (all.size() < kMiB) all += text;
  return all;
}

TEST_P(ServerBounds, AMebibyteOfAnythingIsRefusedAndTheAnswerArrives) {
  ServeEmpty({.max_body_bytes = 64 << 10});
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const struct {
    const char* name;
    std::string sent, code;
  } kCases[] = {
      {"a request line", "GET /" + MiBOf("a"), "431"},
      {"a header", "GET / HTTP/1.1\r\nA: " + MiBOf("a"), "431"},
      {"many headers", "GET / HTTP/1.1\r\n" + MiBOf("a:\r\n"), "431"},
      {"an extension of a chunk", chunked + "1;" + MiBOf("a"), "400"},
      {"trailers", chunked + "0\r\n" + MiBOf("a:\r\n"), "400"},
      {"a trailer", chunked + "0\r\na: " + MiBOf("a"), "400"},
      {"a body", "POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n" + MiBOf("a"), "413"},
      {"chunks", chunked + MiBOf("8\r\n12345678\r\n"), "413"},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + MiBOf(std::string(9, '\0')), "400"},
      {"frames of HTTP/2", MiBOf(std::string("\0\0\0\x09\0\0\0\0\x01", 9)), "400"},
      {"frames of a WebSocket", MiBOf("\x82\xfe\x10"), "400"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto client = Connect();
    client->Write(c.sent);
    EXPECT_THAT(client->ReadAll(), StartsWith("HTTP/1.1 " + c.code));
  }
}

TEST_P(ServerBounds, RequestsThatDoNotWaitAreAnsweredInTurn) {
  ServeEmpty();
  const auto client = Connect();
  const std::string one = "GET / HTTP/1.1\r\n\r\n", last = "GET / HTTP/1.0\r\n\r\n";
  std::string all;
  constexpr size_t kCount = 3000;
  for (size_t i = 1; i < kCount; ++i) all += one;
  ASSERT_TRUE(client->Write(all + last));
  const std::string answers = client->ReadAll();
  size_t seen = 0;
  for (size_t at = answers.find("HTTP/1.1 200"); at != std::string::npos;
       at = answers.find("HTTP/1.1 200", at + 1))
    ++seen;
  EXPECT_EQ(seen, kCount);
}

TEST_P(ServerBounds, WhatManyBeginAndNoneEndsDoesNotAddUp) {
  ServeEmpty({.max_unread_bytes = 256 << 10});
  std::list<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect());
    clients.back()->Write("GET / HTTP/1.1\r\nA: " + std::string(60 << 10, 'a'));
  }
  Wait([this] { return server_->displaced() >= 16; });
  EXPECT_LE(server_->connections(), 4u);
  EXPECT_THAT(Connect()->Ask("GET / HTTP/1.1", "\r\n\r\n"), HasSubstr(" 200 "));
}

TEST_P(ServerBounds, RequestsThatWaitForTheirAnswersCountToo) {
  std::vector<std::shared_ptr<Responder>> waiting;
  std::atomic<size_t> asked = 0;
  Serve({.max_unread_bytes = 256 << 10}, [&](const Request&, std::shared_ptr<Responder> responder) {
    waiting.push_back(std::move(responder));
    ++asked;
  });
  std::list<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(Connect());
    clients.back()->Write("GET / HTTP/1.1\r\nA: " + std::string(60 << 10, 'a') + "\r\n\r\n");
  }
  Wait([this] { return server_->displaced() >= 6; });
  EXPECT_LE(server_->connections(), 4u);
  EXPECT_LE(asked, 10u);
  server_.reset();
}

TEST_P(ServerBounds, AnswersThatAreReadSlowlyDoNotAddUp) {
  const std::string body(20 * kMiB, 'b');  // more than the socket buffers hold
  Serve({.max_unsent_bytes = 50 * kMiB},
        [&body](const Request&, const std::shared_ptr<Responder>& responder) {
          responder->SetKnown();
          responder->Send({.body = body});
        });
  std::list<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(Connect());
    slow.back()->Ask("GET / HTTP/1.0", "\r\n\r\n");
  }
  Wait([this] { return server_->displaced() == 2; });
  EXPECT_LT(slow.front()->ReadAll().size(), body.size()) << "the first that began";
  EXPECT_EQ(slow.back()->ReadAll().size(), body.size());
  EXPECT_THAT(Connect()->Ask("GET / HTTP/1.0", "\r\n\r\n"), HasSubstr(" 200 "));
}

TEST_P(ServerBounds, ABodyThatManyGetIsKeptOnce) {
  const auto body = std::make_shared<const std::string>(20 * kMiB, 'b');
  Serve({.max_unsent_bytes = 50 * kMiB},
        [&body](const Request&, const std::shared_ptr<Responder>& responder) {
          responder->Send({.shared_body = body});
        });
  std::list<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(Connect());
    EXPECT_THAT(slow.back()->Ask("GET / HTTP/1.0", "\r\n\r\n"), HasSubstr("Length: 20971520\r\n"));
  }
  for (const auto& client : slow) EXPECT_EQ(client->ReadAll().size(), body->size());
  EXPECT_EQ(server_->displaced(), 0u);
}

/// A backend that accepts each upgrade and reads nothing until Go is called.
class SilentBackend {
 public:
  uint16_t port() const { return server_.port; }
  void Go() { over_.set_value(); }

 private:
  std::promise<void> over_;
  std::shared_future<void> told_ = over_.get_future().share();
  http::Server server_{[told = told_](const std::string&, int connection) {
    http::Send(connection, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
    told.wait();
  }};
};

constexpr const char* kUpgrade = "GET /exec HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade";

TEST_P(ServerBounds, FramesOfAStreamWaitAtTheClientUntilTheBackendTakesThem) {
  SilentBackend backend;
  Serve({}, [&](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->PassTo({.address = "127.0.0.1", .port = backend.port(), .head = "\r\n\r\n"});
  });
  const auto client = Connect();
  EXPECT_THAT(client->Ask(kUpgrade, "\r\n\r\n"), HasSubstr(" 101 "));
  std::atomic<size_t> sent{0};
  std::jthread writer([&] {
    const std::string frame = "\x82\x7e\x40\x01" + std::string(16 << 10, 'w');
    while (client->Write(frame)) sent += frame.size();
  });
  for (size_t before = 1; before != sent;) {  // until all buffers are full
    before = sent;
    ::poll(nullptr, 0, 200);
  }
  EXPECT_LT(sent, 32 * kMiB) << "what sockets of the kernel take";
  backend.Go();
  Wait([this] { return server_->connections() == 0; });
}

TEST_P(ServerBounds, StreamsLeaveConnectionsForAnswers) {
  SilentBackend backend;
  std::atomic<int> passed{0};
  Serve({.max_connections = 4},
        [&](const Request& request, const std::shared_ptr<Responder>& responder) {
          responder->SetKnown();
          if (request.path != "/exec") return responder->Send({});
          responder->PassTo({.address = "127.0.0.1", .port = backend.port(), .head = "\r\n\r\n"});
          ++passed;
        });
  auto first = Connect();
  EXPECT_THAT(first->Ask(kUpgrade, "\r\n\r\n"), HasSubstr(" 101 "));
  const auto second = Connect(), third = Connect();  // the backend serves one at a time
  for (const auto& client : {second.get(), third.get()})
    client->Write(std::string(kUpgrade) + "\r\n\r\n");
  Wait([&] { return passed == 3; });
  const auto other = Connect();
  EXPECT_THAT(other->Ask(kUpgrade, "open\n"), HasSubstr(" 429 "));
  EXPECT_THAT(other->Ask("GET / HTTP/1.1", "\r\n\r\n"), HasSubstr(" 200 "));
  first.reset();
  Wait([this] { return server_->connections() == 3; });
  other->Write(std::string(kUpgrade) + "\r\n\r\n");
  backend.Go();
  EXPECT_THAT(other->ReadUntil("\r\n\r\n"), HasSubstr(" 101 "));
}

}  // namespace
}  // namespace splitlet::https
