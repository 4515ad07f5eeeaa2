#pragma once

/// The serving side: peers checked by SO_PEERCRED, threads and connections bounded. A refused
/// caller gets PERMISSION_DENIED for each call, before gRPC reads any of its bytes.
/// Threads: handlers run on gRPC's.
/// Errors: see each function.
/// Source: docs/design.md, "The calls"; docs/libraries.md, "gRPC".

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"

namespace grpc {
class ServerContextBase;
class Service;
}  // namespace grpc

namespace splitlet::rpc {

class CallMetrics;

/// A caller: user id and pid from SO_PEERCRED.
struct Peer {
  uint32_t uid = UINT32_MAX;  // UINT32_MAX: unknown
  int32_t pid = 0;
};
Peer PeerOf(const grpc::ServerContextBase& context);
/// Connects to a unix socket to find its listener, without a request and without waiting. An empty
/// Peer: the listener's queue is full; pid 0: the listener is in an invisible pid namespace.
/// UNAVAILABLE: nothing listens; PERMISSION_DENIED; INVALID_ARGUMENT: the path is too long.
StatusOr<Peer> ListenerOf(const std::string& socket_path);
/// Time until the caller's deadline, at most `at_most`: a handler waits no longer than that.
Duration TimeLeft(const grpc::ServerContextBase& context, Duration at_most);
/// "traceparent" metadata of the call; empty if absent.
std::string TraceparentOf(const grpc::ServerContextBase& context);

struct MethodLimits {
  size_t request_bytes = 1 << 20;
  int per_caller = 8;     // calls of one process at the same time
  bool reserved = false;  // served even if other calls have all their threads
};

class CallLimits;

/// Most connections at a time: of one process, of one user, of all.
struct ConnectionLimits {
  int per_process = 8, per_user = 32, all = 256;
};

struct ServerOptions {
  std::string socket_path;
  std::vector<grpc::Service*> services;  // outlive the server
  int max_threads = 32;
  ConnectionLimits connections = {};
  int max_request_bytes = 20 << 20;
  CallLimits* limits =
      nullptr;  // of guarded services; outlives the server, which enforces its time
  std::vector<uint32_t> allowed_uids;  // empty: this user and root
  CallMetrics* metrics = nullptr;      // outlives the server
};

/// Holds the socket until destroyed. Takes over a dead socket file, so the caller must hold the
/// process's lock.
class Server {
 public:
  virtual ~Server() = default;
  /// Refuses new calls, and gives running calls up to `grace`.
  virtual void Stop(Duration grace) = 0;
};
StatusOr<std::unique_ptr<Server>> StartServer(ServerOptions options, Log log);

}  // namespace splitlet::rpc
