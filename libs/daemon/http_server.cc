#include "libs/daemon/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <list>
#include <optional>
#include <thread>

namespace splitlet::daemon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kMaxConnections = 64;
constexpr size_t kMaxHeaderBytes = 8192;
constexpr size_t kMaxBodyBytes = 1024;
constexpr std::chrono::seconds kTimeLimit{10};  // of one request, idle time included

class Session;
using Sessions = std::list<Session*>;

/// One connection; lives as long as one of its callbacks is outstanding.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `sessions`: all that there are; the one that has waited longest comes first.
  Session(tcp::socket socket, const HttpHandler& handler, Sessions& sessions)
      : stream_(std::move(socket)),
        handler_(handler),
        sessions_(sessions),
        place_(sessions.insert(sessions.end(), this)) {}
  ~Session() { sessions_.erase(place_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Its callbacks end with an error, and it with them.
  void Close() {
    sessions_.splice(sessions_.end(), sessions_, place_);
    stream_.close();
  }

  void Read() {
    sessions_.splice(sessions_.end(), sessions_, place_);
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(kMaxBodyBytes);
    stream_.expires_after(kTimeLimit);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, size_t) {
                       if (!error) self->Answer(self->parser_->get());
                     });
  }

 private:
  void Answer(const http::request<http::string_body>& request) {
    const bool head = request.method() == http::verb::head;
    HttpReply reply{.status = 405, .body = "only GET and HEAD\n"};
    if (head || request.method() == http::verb::get) {
      const std::string target(request.target());
      reply = handler_(target.substr(0, target.find('?')));
    }
    response_ = {};
    response_.result(static_cast<unsigned>(reply.status));
    response_.version(request.version());
    response_.set(http::field::content_type, reply.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(request.keep_alive());
    response_.content_length(reply.body.size());
    if (!head) response_.body() = std::move(reply.body);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code error, size_t) {
      if (!error && self->response_.keep_alive()) return self->Read();
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  const HttpHandler& handler_;
  Sessions& sessions_;
  const Sessions::iterator place_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

class BeastServer final : public HttpServer {
 public:
  explicit BeastServer(HttpHandler handler)
      : handler_(std::move(handler)), acceptor_(context_), pause_(context_) {}
  ~BeastServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  BeastServer(const BeastServer&) = delete;
  BeastServer& operator=(const BeastServer&) = delete;

  Status Listen(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return ErrnoStatus(error.value());
    const tcp::endpoint actual = acceptor_.local_endpoint(error);
    const std::string host = actual.address().to_string();
    address_ =
        fmt::format("{}:{}", actual.address().is_v6() ? "[" + host + "]" : host, actual.port());
    Accept();
    thread_ = std::thread([this] { context_.run(); });
    return OkStatus();
  }

  const std::string& address() const override { return address_; }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return AcceptLater();
      // Any user of the machine may connect: who says nothing makes room for who came later.
      if (sessions_.size() >= kMaxConnections) sessions_.front()->Close();
      std::make_shared<Session>(std::move(socket), handler_, sessions_)->Read();
      Accept();
    });
  }

  /// Out of file descriptors, say: trying again at once would turn in a circle.
  void AcceptLater() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this](error_code error) {
      if (!error) Accept();
    });
  }

  const HttpHandler handler_;
  Sessions sessions_;  // before the context, whose sessions are in it
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::string address_;
  std::thread thread_;
};

StatusOr<tcp::endpoint> ParseAddress(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return InvalidArgument("\"{}\" is not host:port", text);
  std::string host = text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [end, wrong] = std::from_chars(text.data() + colon + 1, last, port);
  if (wrong != std::errc{} || end != last)
    return InvalidArgument("\"{}\" has no port in 0..65535", text);
  error_code error;
  const auto address = host.empty() ? asio::ip::address(asio::ip::address_v4::any())
                                    : asio::ip::make_address(host, error);
  if (error) return InvalidArgument("\"{}\" is not an IP address", host);
  return tcp::endpoint(address, port);
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(const std::string& address,
                                                      HttpHandler handler) {
  ASSIGN_OR_RETURN(const tcp::endpoint endpoint, ParseAddress(address), "--http-address");
  auto server = std::make_unique<BeastServer>(std::move(handler));
  RETURN_IF_ERROR(server->Listen(endpoint), "--http-address: listen on {}", address);
  return server;
}

}  // namespace splitlet::daemon
