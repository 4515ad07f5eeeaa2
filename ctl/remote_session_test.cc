#include "ctl/remote_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>
#include <string>
#include <thread>

#include "ctl/remote_frames.h"

namespace splitlet::ctl {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using Error = boost::system::error_code;
using Socket = websocket::stream<asio::ip::tcp::socket>;

constexpr const char* kWell = R"({"metadata":{},"status":"Success"})";

/// A runtime's streaming server for one client, on a thread of its own.
class StreamServer {
 public:
  using Serve = std::function<void(Socket& socket)>;

  StreamServer(std::string protocol, Serve serve)
      : protocol_(std::move(protocol)), serve_(std::move(serve)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~StreamServer() { thread_.join(); }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/exec/token";
  }

  static void Send(Socket& socket, Channel channel, const std::string& bytes) {
    Error error;
    socket.write(asio::buffer(std::string(1, static_cast<char>(channel)) + bytes), error);
  }
  /// Empty at the end of the connection.
  static std::string Receive(Socket& socket) {
    beast::flat_buffer buffer;
    Error error;
    socket.read(buffer, error);
    return error ? "" : beast::buffers_to_string(buffer.data());
  }

 private:
  void Run() {
    Error error;
    asio::ip::tcp::socket peer(io_);
    acceptor_.accept(peer, error);
    if (error) return;
    beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::read(peer, buffer, request, error);
    if (error) return;
    if (protocol_.empty()) {
      http::response<http::string_body> refusal(http::status::not_found, request.version());
      refusal.body() = "no such token";
      refusal.prepare_payload();
      http::write(peer, refusal, error);
      return;
    }
    Socket socket(std::move(peer));
    socket.set_option(websocket::stream_base::decorator([this](websocket::response_type& response) {
      response.set(http::field::sec_websocket_protocol, protocol_);
    }));
    socket.binary(true);
    socket.accept(request, error);
    if (!error) serve_(socket);
  }

  const std::string protocol_;
  const Serve serve_;
  asio::io_context io_{1};
  asio::ip::tcp::acceptor acceptor_{
      io_, asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)};
  std::thread thread_;
};

/// Both ends of a pipe.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0); }
  ~Pipe() {
    CloseWriter();
    ::close(fds[0]);
  }
  void CloseWriter() {
    if (fds[1] >= 0) ::close(fds[1]);
    fds[1] = -1;
  }
  /// What was written, once the writer is closed.
  std::string ReadAll() {
    CloseWriter();
    std::string text, chunk(4096, '\0');
    for (ssize_t got = 0; (got = ::read(fds[0], chunk.data(), chunk.size())) > 0;)
      text.append(chunk, 0, static_cast<size_t>(got));
    return text;
  }
  int fds[2] = {-1, -1};
};

class RemoteSessions : public ::testing::Test {
 protected:
  StatusOr<RemoteEnd> Run(const std::string& url, bool input) {
    return RunRemote(
        {.url = url, .input = input, .in = in.fds[0], .out = out.fds[1], .err = err.fds[1]});
  }
  void Type(const std::string& text) {
    ASSERT_EQ(::write(in.fds[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    in.CloseWriter();
  }
  Pipe in, out, err;
};

TEST_F(RemoteSessions, OutputAndErrorsGoTheirWays) {
  StreamServer server(kProtocolV4, [](Socket& socket) {
    StreamServer::Send(socket, Channel::kStdout, "");
    StreamServer::Send(socket, Channel::kStdout, "hello ");
    StreamServer::Send(socket, Channel::kStderr, "trouble");
    StreamServer::Send(socket, Channel::kStdout, "world");
    StreamServer::Send(socket, Channel::kError, kWell);
  });
  const auto end = Run(server.url(), /*input=*/false);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(out.ReadAll(), "hello world");
  EXPECT_EQ(err.ReadAll(), "trouble");
}

TEST_F(RemoteSessions, TheExitCodeIsTheCommands) {
  StreamServer server(kProtocolV4, [](Socket& socket) {
    StreamServer::Send(
        socket, Channel::kError,
        R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}})");
  });
  const auto end = Run(server.url(), /*input=*/false);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 42);
}

TEST_F(RemoteSessions, InputIsSentAndItsEndIsToldWhereTheServerKnowsHow) {
  std::string received;
  StreamServer server(kProtocolV5, [&received](Socket& socket) {
    for (std::string message; message != CloseStdinMessage();) {
      message = StreamServer::Receive(socket);
      if (message.empty()) return;
      if (message.front() == 0) received += message.substr(1);
    }
    StreamServer::Send(socket, Channel::kError, kWell);
  });
  Type("one\ntwo\n");
  const auto end = Run(server.url(), /*input=*/true);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(received, "one\ntwo\n");
  EXPECT_FALSE(end->open_input);
}

TEST_F(RemoteSessions, AnOlderServerCannotBeToldThatTheInputEnded) {
  StreamServer server(kProtocolV4, [](Socket& socket) {
    StreamServer::Receive(socket);
    // The client has said so before it could be asked for more.
    StreamServer::Receive(socket);
  });
  Type("one\n");
  std::thread killer([this] {
    std::string text(200, '\0');
    EXPECT_GT(::read(err.fds[0], text.data(), text.size()), 0);
    EXPECT_NE(text.find("cannot be told that the input has ended"), std::string::npos);
    ::kill(::getpid(), SIGINT);
  });
  const auto end = Run(server.url(), /*input=*/true);
  killer.join();
  EXPECT_EQ(end.status().code(), StatusCode::kCancelled) << end.status();
}

TEST_F(RemoteSessions, AConnectionThatBreaksIsNoSuccess) {
  StreamServer server(kProtocolV4, [](Socket& socket) {
    StreamServer::Send(socket, Channel::kStdout, "half");
    Error error;
    socket.next_layer().shutdown(asio::ip::tcp::socket::shutdown_both, error);
  });
  EXPECT_EQ(Run(server.url(), /*input=*/false).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(out.ReadAll(), "half");
}

TEST_F(RemoteSessions, AServerThatDeclinesSaysWhy) {
  StreamServer server("", [](Socket&) {});
  const auto end = Run(server.url(), /*input=*/false);
  EXPECT_EQ(end.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(end.status()).find("404"), std::string::npos) << end.status();
}

TEST_F(RemoteSessions, WithoutAServerThereIsAnError) {
  EXPECT_EQ(Run("http://127.0.0.1:1/exec/x", false).status().code(), StatusCode::kUnavailable);
}

TEST_F(RemoteSessions, TheModeOfTheInputComesBack) {
  StreamServer server(kProtocolV4, [](Socket& socket) {
    StreamServer::Receive(socket);
    StreamServer::Send(socket, Channel::kError, kWell);
  });
  ASSERT_EQ(::write(in.fds[1], "x", 1), 1);
  const int before = ::fcntl(in.fds[0], F_GETFL);
  EXPECT_TRUE(Run(server.url(), /*input=*/true).ok());
  EXPECT_EQ(::fcntl(in.fds[0], F_GETFL), before);
}

}  // namespace
}  // namespace splitlet::ctl
