#include "libs/daemon/http_server.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "libs/https/server.h"

namespace splitlet::daemon {
namespace {

constexpr Duration kTimeLimit = std::chrono::seconds{10};  // of each step, idle time included

/// Any user of the machine may connect, so connections must be cheap.
https::ServerOptions OptionsFor(std::string host, uint16_t port) {
  return {.address = std::move(host),
          .port = port,
          .tls = false,
          .max_connections = 64,
          .max_header_bytes = 8 << 10,
          .max_body_bytes = 1 << 10,
          .max_unread_bytes = 128 << 10,
          .max_unsent_bytes = 16 << 20,
          .handshake_limit = kTimeLimit,
          .header_limit = kTimeLimit,
          .idle_limit = kTimeLimit,
          .write_limit = kTimeLimit};
}

class MetricsServer final : public HttpServer {
 public:
  MetricsServer(std::string address, std::unique_ptr<https::Server> server)
      : address_(std::move(address)), server_(std::move(server)) {}
  const std::string& address() const override { return address_; }

 private:
  const std::string address_;
  const std::unique_ptr<https::Server> server_;
};

https::Answer AnswerTo(const https::Request& request, const HttpHandler& handler) {
  HttpReply reply{.status = 405, .body = "only GET and HEAD\n"};
  if (request.head_only() || request.method == "GET") reply = handler(request.path);
  return {.code = reply.status,
          .headers = {{"Content-Type", reply.content_type}, {"Cache-Control", "no-store"}},
          .body = std::move(reply.body)};
}

struct Endpoint {
  std::string host;  // without brackets
  uint16_t port = 0;
};

StatusOr<Endpoint> ParseAddress(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return InvalidArgument("\"{}\" is not host:port", text);
  Endpoint endpoint{.host = text.substr(0, colon)};
  std::string& host = endpoint.host;
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "0.0.0.0";
  const char* const last = text.data() + text.size();
  const auto [end, wrong] = std::from_chars(text.data() + colon + 1, last, endpoint.port);
  if (wrong != std::errc{} || end != last)
    return InvalidArgument("\"{}\" has no port in 0..65535", text);
  return endpoint;
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(const std::string& address,
                                                      HttpHandler handler) {
  ASSIGN_OR_RETURN(const Endpoint wanted, ParseAddress(address), "--http-address");
  auto server = https::StartServer(
      OptionsFor(wanted.host, wanted.port),
      [handler = std::move(handler)](const https::Request& request,
                                     const std::shared_ptr<https::Responder>& responder) {
        responder->Send(AnswerTo(request, handler));
      });
  if (!server.ok()) return Annotate(server.status(), "--http-address");
  const bool six = wanted.host.find(':') != std::string::npos;
  const std::string host = six ? "[" + wanted.host + "]" : wanted.host;
  return std::make_unique<MetricsServer>(fmt::format("{}:{}", host, (*server)->port()),
                                         *std::move(server));
}

}  // namespace splitlet::daemon
