#pragma once

/// gRPC between the processes of one node, on unix sockets <run>/<process>/rpc.sock. Server: peers
/// checked by SO_PEERCRED, threads bounded. Channel: quick reconnects, deadlines, each call a span.
/// Threads: as said at each. Handlers run on gRPC's threads and go to the loop by OnLoop().
/// Errors: gRPC codes, kept in both directions.
/// Source: docs/design.md, "The calls"; docs/libraries.md, "gRPC".

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/exec/exec.h"

namespace grpc {
class Channel;
class ClientContext;
class ServerContext;
class ServerContextBase;
class Service;
class Status;
}  // namespace grpc

namespace splitlet::rpc {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

class CallMetrics;

std::string SocketPath(const std::string& run_dir, const std::string& process);

/// Never fails: the peer may come later. Calls wait until it is there or their deadline; one whose
/// connection ends beneath it is UNAVAILABLE, and whether it was carried out is not known.
/// The peer's socket must belong to root or to `server_uid`; where that is not given, to this user,
/// to root, or to the owner of its directory where this user or root made that directory and
/// strangers cannot write there. Else calls are PERMISSION_DENIED. Calls are counted in `metrics`
/// if there are any; they outlive the calls.
std::shared_ptr<grpc::Channel> Connect(const std::string& socket_path,
                                       CallMetrics* metrics = nullptr,
                                       std::optional<uint32_t> server_uid = std::nullopt);
/// The same for a CRI endpoint: "unix:///run/containerd/containerd.sock", or a bare path; libs/cri
/// counts its calls.
std::shared_ptr<grpc::Channel> ConnectEndpoint(const std::string& endpoint);

/// Sets deadline, wait-for-ready and traceparent on a call, and cancels it with the deadline's
/// token.
class ClientCall {
 public:
  ClientCall(const Clock& clock, const Deadline& deadline, const std::string& traceparent = {});
  ~ClientCall();
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;
  grpc::ClientContext& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Who calls: user id and pid from SO_PEERCRED.
struct Peer {
  uint32_t uid = UINT32_MAX;  // nobody: not known
  int32_t pid = 0;
};
Peer PeerOf(const grpc::ServerContextBase& context);
/// Connects to a unix socket and asks nothing: who listens there. Does not wait. Nobody, when the
/// listener's queue is full; pid 0, when it is in a pid namespace that is not seen from here.
/// UNAVAILABLE when nothing listens, PERMISSION_DENIED, INVALID_ARGUMENT for a path that is too
/// long.
StatusOr<Peer> ListenerOf(const std::string& socket_path);
/// "traceparent" metadata of the call; empty when there is none.
std::string TraceparentOf(const grpc::ServerContextBase& context);

struct MethodLimits {
  size_t request_bytes = 1 << 20;
  int per_caller = 8;     // calls of one process at once
  bool reserved = false;  // served also when the threads for others are all taken
};

class CallLimits;

/// Of connections at once: of one process, of one user, of all.
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

/// Holds the socket until destroyed. Takes over a dead socket file; the caller holds the process's
/// lock first.
class Server {
 public:
  virtual ~Server() = default;
  /// Refuses new calls, gives those running up to `grace`.
  virtual void Stop(Duration grace) = 0;
};
StatusOr<std::unique_ptr<Server>> StartServer(ServerOptions options, Log log);

/// Runs `f` on the loop and waits for it on this (gRPC) thread: the way from a handler to the
/// state. The loop never waits for a handler, so this cannot deadlock. UNAVAILABLE when the loop
/// did not answer in `limit`.
template <class R>
StatusOr<R> OnLoop(exec::EventLoop& loop, Duration limit, std::function<StatusOr<R>()> f) {
  auto promise = std::make_shared<std::promise<StatusOr<R>>>();
  auto future = promise->get_future();
  loop.Post([promise, f = std::move(f)] { promise->set_value(f()); });
  if (future.wait_for(limit) != std::future_status::ready)
    return Unavailable("the event loop does not answer");
  return future.get();
}

/// The same for an answer that comes later: `f` gets `done` and calls it once, from any thread.
template <class R>
StatusOr<R> OnLoopLater(exec::EventLoop& loop, Duration limit,
                        std::function<void(std::function<void(StatusOr<R>)> done)> f) {
  auto promise = std::make_shared<std::promise<StatusOr<R>>>();
  auto future = promise->get_future();
  loop.Post([promise, f = std::move(f)] {
    f([promise](StatusOr<R> r) { promise->set_value(std::move(r)); });
  });
  if (future.wait_for(limit) != std::future_status::ready) return Unavailable("no answer in time");
  try {
    return future.get();
  } catch (const std::future_error&) {
    return Unavailable("the process ends");  // whoever would have called `done` was dropped
  }
}

}  // namespace splitlet::rpc
