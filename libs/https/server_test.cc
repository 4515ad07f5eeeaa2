#include "libs/https/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "libs/http/test_server.h"
#include "libs/https/test_client.h"

namespace splitlet::https {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

void WaitUntil(const std::function<bool()>& holds) {
  for (int i = 0; i < 2000 && !holds(); ++i) ::poll(nullptr, 0, 5);
  EXPECT_TRUE(holds());
}

ServerOptions Plain() { return {.tls = false}; }

std::unique_ptr<Server> Started(ServerOptions options, Handler handler) {
  auto server = StartServer(std::move(options), std::move(handler));
  CHECK(server.ok(), "{}", ToString(server.status()));
  return *std::move(server);
}

void Echo(Request request, std::shared_ptr<Responder> responder) {
  responder->Send({.code = 200,
                   .headers = {{"Content-Type", "text/plain"}},
                   .body = fmt::format("{} {}?{} x={} [{}]\n", request.method, request.path,
                                       request.query, request.Header("x-one"), request.body)});
}

TEST(Server, AnswersOneRequestAfterTheOther) {
  const auto server = Started(Plain(), Echo);
  TestClient client(server->port());
  EXPECT_THAT(client.Ask("GET /a/b?c=d HTTP/1.1\r\nX-One: 1", "]\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Length: "),
                    EndsWith("\r\n\r\nGET /a/b?c=d x=1 []\n")));
  EXPECT_THAT(client.Ask("POST /p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /q HTTP/1.1", "[]\n"),
              AllOf(HasSubstr("POST /p? x= [abc]\n"), HasSubstr("GET /q? x= []\n")));
  client.Write("PUT /c HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Write("2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("]\n"), HasSubstr("PUT /c? x= [xyz]"));
  EXPECT_THAT(client.Ask("HEAD /h HTTP/1.0", "\r\n\r\n"), HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(client.ReadAll(), IsEmpty());
}

/// Sends this many short requests.
std::string Lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "a:\r\n";
  return lines;
}

TEST(Server, RefusesWhatIsTooMuchOrNoHttp) {
  ServerOptions options = Plain();
  options.max_header_bytes = 16 << 10;
  options.max_body_bytes = 100;
  options.header_limit = std::chrono::milliseconds{200};
  const auto server = Started(options, Echo);
  const struct {
    const char* name;
    std::string sent, code;
  } kCases[] = {
      {"a header beyond the bound", "GET / HTTP/1.1\r\nA: " + std::string(40 << 10, 'a'), " 431 "},
      {"as many headers as may be", "GET / HTTP/1.1\r\nConnection: close\r\n" + Lines(255) + "\r\n",
       " 200 "},
      {"one more", "GET / HTTP/1.1\r\n" + Lines(257) + "\r\n", " 431 "},
      {"one more, and a body that never comes",
       "POST / HTTP/1.1\r\nContent-Length: 9\r\n" + Lines(256) + "\r\n", " 431 "},
      {"a body beyond the bound", "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", " 413 "},
      {"no HTTP", "\x16\x03\x01 hello\r\n\r\n", " 400 "},
      {"a header that never ends is cut", "GET / HTTP/1.1\r\nA: a", ""},
      {"a body that never comes is cut", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestClient client(server->port());
    client.Write(c.sent);
    const std::string answer = client.ReadAll();
    if (c.code.empty())
      EXPECT_EQ(answer, "");
    else
      EXPECT_THAT(answer, HasSubstr(c.code));
  }
  WaitUntil([&] { return server->connections() == 0; });
}

bool HasIpv6() {
  std::ifstream addresses("/proc/net/if_inet6");
  const std::string all(std::istreambuf_iterator<char>(addresses), {});
  return all.find("00000000000000000000000000000001") != std::string::npos;
}

TEST(Server, AnyAddressIsOfBothFamilies) {
  for (const char* any : {"0.0.0.0", "::"}) {
    SCOPED_TRACE(any);
    ServerOptions options = Plain();
    options.address = any;
    const auto server =
        Started(options, [](const Request& request, const std::shared_ptr<Responder>& responder) {
          responder->Send({.code = 200, .headers = {}, .body = request.peer + "\n"});
        });
    TestClient four(server->port());
    EXPECT_THAT(four.Ask("GET / HTTP/1.1", "1\n"), EndsWith("\r\n\r\n127.0.0.1\n"));
    if (!HasIpv6()) continue;
    TestClient six(server->port(), AF_INET6);
    EXPECT_THAT(six.Ask("GET / HTTP/1.1", "1\n"), EndsWith("\r\n\r\n::1\n"));
    options.port = server->port();
    EXPECT_EQ(StartServer(options, Echo).status().code(), ErrnoStatus(EADDRINUSE).code());
  }
}

TEST(Server, OneAddressIsOfItsFamily) {
  if (!HasIpv6()) GTEST_SKIP() << "this machine has no IPv6";
  const auto server = Started(Plain(), Echo);
  EXPECT_FALSE(TestClient(server->port(), AF_INET6).connected);
}

TEST(Server, AClientThatSaysNothingIsCut) {
  ServerOptions options = Plain();
  options.idle_limit = std::chrono::milliseconds{100};
  const auto server = Started(options, Echo);
  TestClient silent(server->port());
  EXPECT_EQ(silent.ReadAll(), "");
  TestClient later(server->port());
  later.Ask("GET / HTTP/1.1", "]\n");
  EXPECT_EQ(later.ReadAll(), "");
  WaitUntil([&] { return server->connections() == 0; });
}

TEST(Server, AHalfClosedClientGetsItsAnswer) {
  const auto server = Started(Plain(), Echo);
  TestClient client(server->port());
  client.Write("GET /half HTTP/1.1\r\n\r\n");
  client.HalfClose();
  EXPECT_THAT(client.ReadAll(), EndsWith("GET /half? x= []\n"));
}

TEST(Server, AHandlerThatForgetsIsA500) {
  const auto server = Started(Plain(), [](const Request&, const std::shared_ptr<Responder>&) {});
  TestClient client(server->port());
  EXPECT_THAT(client.Ask("GET / HTTP/1.1", "Error\n"), HasSubstr(" 500 "));
}

TEST(Server, StreamsWithBackPressureAndSeesTheClientGo) {
  std::promise<std::shared_ptr<Stream>> begun;
  std::promise<void> gone;
  const auto server = Started(Plain(), [&](const Request&, std::shared_ptr<Responder> responder) {
    responder->OnGone([&gone] { gone.set_value(); });
    begun.set_value(responder->Begin({.code = 200, .headers = {}, .body = "first"}));
  });
  auto client = std::make_unique<TestClient>(server->port());
  EXPECT_THAT(
      client->Ask("GET / HTTP/1.1", "first\r\n"),
      AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), EndsWith("\r\n\r\n5\r\nfirst\r\n")));
  const auto stream = begun.get_future().get();
  EXPECT_TRUE(stream->Write("second"));
  EXPECT_EQ(client->ReadUntil("second\r\n"), "6\r\nsecond\r\n");
  EXPECT_TRUE(stream->WaitForRoom(1));

  std::atomic<size_t> written{0};
  std::thread writer([&] {
    while (stream->WaitForRoom(64 << 10) && stream->Write(std::string(64 << 10, 'x')))
      written += 64 << 10;
  });
  size_t before = 1;
  while (before != written) {  // until the buffers of both sides are full
    before = written;
    ::poll(nullptr, 0, 200);
  }
  EXPECT_LT(written, 64U << 20);
  client.reset();
  writer.join();
  gone.get_future().get();
  EXPECT_TRUE(stream->gone());
  WaitUntil([&] { return server->connections() == 0; });
}

TEST(Server, AStreamEndsOrIsCut) {
  std::shared_ptr<Stream> stream;
  const auto server =
      Started(Plain(), [&](const Request& request, std::shared_ptr<Responder> responder) {
        auto made = responder->Begin({});
        made->Write("a");
        if (request.path == "/whole") made->End();
      });
  TestClient whole(server->port());
  EXPECT_THAT(whole.Ask("GET /whole HTTP/1.1", "0\r\n\r\n"), HasSubstr("a\r\n0\r\n\r\n"));
  EXPECT_THAT(whole.Ask("GET /part HTTP/1.1", "0\r\n\r\n"), Not(HasSubstr("0\r\n\r\n")));
  TestClient old(server->port());
  EXPECT_THAT(old.Ask("GET /whole HTTP/1.0", "0\r\n\r\n"), EndsWith("\r\n\r\na"));
}

TEST(Server, StrangersMakeRoomAndKnownOnesStay) {
  ServerOptions options = Plain();
  options.max_connections = 200;
  const auto server = Started(options, [](Request request, std::shared_ptr<Responder> responder) {
    responder->SetKnown();
    Echo(std::move(request), responder);
  });
  TestClient known(server->port());
  known.Ask("GET / HTTP/1.1", "]\n");
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 2000; ++i) idle.push_back(std::make_unique<TestClient>(server->port()));
  // The server closes one connection before it accepts the next.
  WaitUntil([&] { return server->displaced() == 1801 && server->connections() == 200; });
  EXPECT_THAT(known.Ask("GET /still HTTP/1.1", "]\n"), HasSubstr("/still"));
  EXPECT_EQ(idle.front()->Read(), "");
  EXPECT_THAT(idle.back()->Ask("GET /newest HTTP/1.1", "]\n"), HasSubstr("/newest"));
}

TEST(Server, StopsWithGraceForWhatIsUnderWay) {
  std::promise<std::shared_ptr<Responder>> asked;
  auto server = Started(Plain(), [&](const Request&, std::shared_ptr<Responder> responder) {
    asked.set_value(std::move(responder));
  });
  TestClient idle(server->port()), busy(server->port());
  busy.Write("GET / HTTP/1.1\r\n\r\n");
  auto responder = asked.get_future().get();
  std::thread stopping([&] { server->Stop(std::chrono::seconds{10}); });
  EXPECT_EQ(idle.ReadAll(), "");
  responder->Send({.code = 200, .headers = {}, .body = "late"});
  EXPECT_THAT(busy.ReadAll(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("late")));
  stopping.join();
  responder->Send({});  // the client has closed
}

/// Answers with `answer`; over an upgraded connection it echoes bytes until `end` has come.
http::Server::Serve Answers(const std::string& answer) {
  return [answer](const std::string&, int connection) {
    http::Send(connection, answer);
    std::string got;
    char buffer[4096];
    while (answer.find(" 101 ") != std::string::npos && got.find("end") == std::string::npos) {
      const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
      if (n <= 0) break;
      got.append(buffer, static_cast<size_t>(n));
      http::Send(connection, std::string(buffer, static_cast<size_t>(n)));
    }
  };
}

/// Forwards every request to `port`.
Handler PassesTo(uint16_t port) {
  return [port](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->PassTo({.address = "127.0.0.1", .port = port, .head = "POST /x HTTP/1.1\r\n\r\n"});
  };
}

std::string PassedTo(uint16_t port, const std::string& sent) {
  const auto server = Started(Plain(), PassesTo(port));
  TestClient client(server->port());
  client.Write("POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n" + sent);
  return client.ReadAll();
}

TEST(Server, PassesAnUpgradedConnectionOn) {
  const std::string upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n";
  {
    http::Server backend(Answers(upgraded + "hi"));
    EXPECT_EQ(PassedTo(backend.port, "early end"), upgraded + "hiearly end");
  }
  const std::string refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
  {
    http::Server backend(Answers(refused));
    EXPECT_EQ(PassedTo(backend.port, ""), refused);
  }
  {
    http::Server backend(Answers("HTTP/1.1 302 Found\r\nLocation: /y\r\n\r\n"));
    EXPECT_THAT(PassedTo(backend.port, ""),
                AllOf(HasSubstr(" 500 "), HasSubstr("invalid upgrade response: status code 302")));
  }
  uint16_t nobody = 0;
  {
    http::Server backend(Answers(""));
    nobody = backend.port;
  }
  EXPECT_THAT(PassedTo(nobody, ""), HasSubstr("error dialing backend: "));
}

TEST(Server, AnUpgradedConnectionMayBeQuiet) {
  http::Server backend(Answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  ServerOptions options = Plain();
  options.write_limit = options.stream_limit = std::chrono::milliseconds{30};
  const auto server = Started(options, PassesTo(backend.port));
  TestClient client(server->port());
  client.Ask("POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade", "\r\n\r\n");
  client.Write("a");
  EXPECT_EQ(client.Read(), "a");
  ::poll(nullptr, 0, 120);  // longer than either limit
  client.Write("end");
  EXPECT_EQ(client.ReadAll(), "end");
  WaitUntil([&] { return server->connections() == 0; });
}

TEST(Server, AnUpgradedConnectionWhoseBackendTakesNothingIsCut) {
  std::promise<void> over;
  http::Server backend([&](const std::string&, int connection) {
    http::Send(connection, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
    over.get_future().wait();  // and reads nothing
  });
  ServerOptions options = Plain();
  options.stream_limit = std::chrono::milliseconds{30};
  const auto server = Started(options, PassesTo(backend.port));
  TestClient client(server->port());
  client.Ask("POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade", "\r\n\r\n");
  std::jthread types([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && client.Write(std::string(64 << 10, 'y'))) {
    }
  });
  WaitUntil([&] { return server->connections() == 0; });
  over.set_value();
}

uint16_t PortOf(const sockaddr_in6& address) {
  return ntohs(address.sin6_family == AF_INET6
                   ? address.sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// Number of sockets with this local or remote port whose keepalive starts after this many seconds.
size_t CountKeptAlive(uint16_t port, int after_seconds) {
  size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in6 own{}, peer{};
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
      continue;
    if (PortOf(own) != port && PortOf(peer) != port) continue;
    int on = 0, idle = 0;
    socklen_t size = sizeof(int);
    ::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size);
    ::getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size);
    if (on != 0 && idle == after_seconds) ++count;
  }
  return count;
}

TEST(Server, AnUpgradedConnectionAsksBothEndsWhetherTheyAreThere) {
  http::Server backend(Answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  const auto server = Started(Plain(), PassesTo(backend.port));
  TestClient client(server->port());
  client.Ask("POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade", "\r\n\r\n");
  EXPECT_EQ(CountKeptAlive(server->port(), 15), 1u);
  EXPECT_EQ(CountKeptAlive(backend.port, 15), 1u);
  client.Write("end");
}

}  // namespace
}  // namespace splitlet::https
