#pragma once

/// An HTTP/1.1 server, over TLS or plain: whole answers, streams of chunks, and connections that
/// are forwarded to another server after an upgrade. The numbers of connections, the sizes of
/// headers and bodies, and times are bounded.
/// Owns:    its connections. A cut connection leaves all lists immediately.
/// Threads: a thread of its own; the handler runs on it and must not block. Responder, Stream from
/// any.
/// Errors:  Start's, by errno or INVALID_ARGUMENT for the address. A client's go to the client.
/// Source:  docs/behaviour/node-api.md, "Listeners"; RFC 9112.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/https/tls.h"

namespace splitlet::https {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"
  std::string target;  // as sent: "/pods?x=1"
  std::string path;    // without query, percent escapes as sent
  std::string query;   // without '?', as sent
  Headers headers;     // in the order sent
  std::string body;
  std::string peer;  // the client's IP address
  bool tls = false;
  std::optional<ClientCertificate> client;  // verified by the server's current authority
  std::string bad_client;                   // why the client's certificate was not accepted
  bool head_only() const { return method == "HEAD"; }
  /// The first header of this name, ignoring case; empty: none.
  std::string_view Header(std::string_view name) const;
  /// Replaces all headers of this name.
  void SetHeader(std::string_view name, std::string_view value);
};

struct Answer {
  int code = 200;
  Headers headers;  // the server adds Content-Length, Transfer-Encoding and Connection
  std::string body;
  std::shared_ptr<const std::string> shared_body;  // used instead of `body`, to share it among
                                                   // answers
};

/// The body of an answer in chunks. If destroyed without End, it cuts the connection, so that the
/// client notices the missing rest.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Queues the bytes without waiting; empty bytes do nothing. False: the reader has left.
  virtual bool Write(std::string_view bytes) = 0;
  /// Blocks until fewer than `below` bytes wait, not counting those being sent: back-pressure for a
  /// caller that may block. False: the reader has left.
  virtual bool WaitForRoom(size_t below) = 0;
  virtual void End() = 0;
  virtual bool gone() const = 0;
};

/// Another server to which a connection is forwarded.
struct Backend {
  std::string address;  // an IP address
  uint16_t port = 0;
  std::string head;  // the request sent to it, with the empty line at its end
};

/// Answers one request, once. If destroyed without an answer, it sends 500.
class Responder {
 public:
  virtual ~Responder() = default;
  /// Marks the connection as authenticated, so that it is not cut to make room for others.
  virtual void SetKnown() = 0;
  /// `left` is called once, on the server's thread, if the client closes or is cut before the
  /// answer's end.
  virtual void OnGone(std::function<void()> gone) = 0;
  virtual void Send(Answer answer) = 0;
  /// Sends the head immediately. `head.body` becomes the first chunk.
  virtual std::shared_ptr<Stream> Begin(Answer head) = 0;
  /// Sends `head` to the backend and, after 101, forwards all bytes both ways until either side
  /// ends. It forwards an answer of 400 or more; any other answer, and an unreachable backend,
  /// become 500. Silence has no limit; TCP's keepalive finds dead peers. 429 if three quarters of
  /// all connections are forwarded already, because the rest is kept for whole answers.
  virtual void PassTo(Backend backend) = 0;
};

using Handler = std::function<void(Request request, std::shared_ptr<Responder> responder)>;

struct ServerOptions {
  std::string address = "127.0.0.1";  // an IP address; 0.0.0.0 and :: mean both families
  uint16_t port = 0;                  // 0: any
  bool tls = true;
  size_t max_connections = 1000;  // above this, the oldest unauthenticated connection is cut, else
                                  // the newest
  size_t max_header_bytes = 64 << 10;  // in at most 256 lines
  size_t max_body_bytes = 1 << 20;
  // Limit of bytes of unanswered requests on all connections together. Above it, the largest
  // unauthenticated connection is cut, or else the largest one.
  size_t max_unread_bytes = 16 << 20;
  // Limit of bytes of whole answers together, except answers up to 64 KiB. Above it, the connection
  // whose answer began first is cut.
  size_t max_unsent_bytes = 64 << 20;
  Duration handshake_limit = std::chrono::seconds{10};
  Duration header_limit = std::chrono::seconds{10};  // for the header, from its first byte on; the
                                                     // same for the body
  Duration idle_limit = std::chrono::seconds{90};
  Duration write_limit = std::chrono::seconds{60};  // for a piece of a whole answer
  Duration stream_limit = std::chrono::hours{4};    // for a piece of a stream
};

class Server {
 public:
  virtual ~Server() = default;  // like Stop without grace
  /// The actual port.
  virtual uint16_t port() const = 0;
  /// Sets the certificate of later handshakes. Before the first call handshakes fail.
  virtual void SetTls(std::shared_ptr<const TlsContext> context) = 0;
  /// Sets the authority of later requests; null: no client certificate is accepted.
  virtual void SetClientAuthority(std::shared_ptr<const ClientAuthority> authority) = 0;
  virtual size_t connections() const = 0;
  /// Number of connections that were cut to make room.
  virtual uint64_t displaced() const = 0;
  /// Accepts no more requests; running ones may take up to `grace`. Joins the thread.
  virtual void Stop(Duration grace) = 0;
};
StatusOr<std::unique_ptr<Server>> StartServer(ServerOptions options, Handler handler);

}  // namespace splitlet::https
