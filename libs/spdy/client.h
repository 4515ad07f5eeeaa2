#pragma once

/// A SPDY/3.1 session with a server, started by an HTTP/1.1 upgrade request, as in Kubernetes'
/// exec, attach and port-forward.
/// In:      Open, Write, Finish and SetReading from the caller; bytes from the server.
/// Owns:    the connection and its session.
/// Out:     ClientHandler.
/// Threads: that of the io_context.
/// Errors:  see OnClosed.
/// Source:  SPDY/3.1; client-go's remotecommand and httpstream packages.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/spdy/session.h"

namespace boost::asio {
class io_context;
}

namespace splitlet::spdy {

struct ClientOptions {
  std::string host;  // an address, not a name
  uint16_t port = 0;
  std::string target;  // path and query of the request
  std::vector<std::string>
      protocols;           // protocols of the streams, the best first; the server chooses
  Duration connect_limit;  // limit until the server's upgrade
};

class ClientHandler : public SessionHandler {
 public:
  /// The session has started. `protocol`: the server's choice; empty: none.
  virtual void OnConnected(const std::string& protocol) = 0;
  /// The kernel has accepted all sendable bytes; streams without unsent() may get more.
  virtual void OnSent() = 0;
  /// The last call. UNAVAILABLE: no connection, a broken one, or a refusal (with the server's
  /// text); or an error of Session::Receive.
  virtual void OnClosed(const Status& why) = 0;
};

class Client {
 public:
  virtual ~Client() = default;
  virtual StatusOr<StreamId> Open(const Headers& headers) = 0;
  virtual void Write(StreamId stream, std::string_view bytes) = 0;
  virtual void Finish(StreamId stream) = 0;
  virtual size_t unsent(StreamId stream) const = 0;
  /// False: reads at most 64 KiB more until true, so that the server must wait.
  virtual void SetReading(bool reading) = 0;
};

/// Connects; `handler` is called from the io_context while the client exists.
std::unique_ptr<Client> MakeClient(boost::asio::io_context& io, ClientOptions options,
                                   ClientHandler& handler);

}  // namespace splitlet::spdy
