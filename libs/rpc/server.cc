#include "libs/rpc/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libs/rpc/call_limits.h"
#include "libs/rpc/library.h"
#include "libs/rpc/peer.h"
#include "libs/rpc/refusals.h"
#include "libs/rpc/rpc.h"
#include "libs/rpc/socket_fd.h"
#include "libs/rpc/watch.h"

namespace splitlet::rpc {
namespace {

constexpr int kMaxAnswerBytes = 32 << 20;
constexpr int kMaxMetadataBytes = 8 << 10;  // of a call; gRPC refuses more
constexpr int kMaxStreams = 32;             // of one connection; more calls wait at the client
constexpr size_t kMaxMemory = 256 << 20;
constexpr int kBacklog = 64;
constexpr int kIdlePollMs = 600'000;  // gRPC's default wakes an idle server every 10 s
constexpr int kLookMs = 5000;         // period of the check for calls that take too long

StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return InvalidArgument("the path of the socket is longer than {} bytes: {}",
                           sizeof address.sun_path - 1, path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

StatusOr<SocketFd> NewSocket() {
  SocketFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return Annotate(ErrnoStatus(errno), "make a socket");
  return fd;
}

StatusOr<SocketFd> Listen(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path), "listen");
  const std::string dir = path.substr(0, path.rfind('/'));
  if (mkdir(dir.c_str(), 0750) != 0 && errno != EEXIST)
    return Annotate(ErrnoStatus(errno), "make " + dir);
  ASSIGN_OR_RETURN(SocketFd fd, NewSocket(), "listen");
  if (unlink(path.c_str()) != 0 && errno != ENOENT)
    return Annotate(ErrnoStatus(errno), "remove " + path);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Annotate(ErrnoStatus(errno), "bind " + path);
  // No client can connect before listen, so the mode is right from the first moment.
  if (chmod(path.c_str(), 0660) != 0)
    return Annotate(ErrnoStatus(errno), "set the mode of " + path);
  if (listen(fd.get(), kBacklog) != 0) return Annotate(ErrnoStatus(errno), "listen on " + path);
  return fd;
}

std::vector<uint32_t> OwnAndRoot() {
  if (geteuid() == 0) return {0};
  return {0, geteuid()};
}

class UnixServer final : public Server {
 public:
  UnixServer(ServerOptions options, Log log, SocketFd listener, SocketFd wake)
      : options_(std::move(options)),
        log_(log),
        allowed_uids_(options_.allowed_uids.empty() ? OwnAndRoot() : options_.allowed_uids),
        listener_(std::move(listener)),
        wake_(std::move(wake)) {}
  ~UnixServer() override { Stop(Duration{0}); }
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  Status Start() {
    KeepLibraryUp();
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("rpc");
    quota.SetMaxThreads(options_.max_threads);
    quota.Resize(kMaxMemory);
    builder.SetResourceQuota(quota);
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::CQ_TIMEOUT_MSEC, kIdlePollMs);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    builder.SetMaxReceiveMessageSize(options_.max_request_bytes);
    builder.SetMaxSendMessageSize(kMaxAnswerBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    for (auto* service : options_.services) builder.RegisterService(service);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watch;
    watch.push_back(WatchServer(options_.metrics));
    builder.experimental().SetInterceptorCreators(std::move(watch));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Internal("gRPC does not start a server");
    acceptor_ = std::jthread([this] { AcceptUntilStopped(); });
    return OkStatus();
  }

  void Stop(Duration grace) override {
    if (server_ == nullptr) return;
    const uint64_t one = 1;
    CHECK(write(wake_.get(), &one, sizeof one) == sizeof one);
    if (acceptor_.joinable()) acceptor_.join();
    listener_.Close();
    unlink(options_.socket_path.c_str());
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                   gpr_time_from_nanos(grace.count(), GPR_TIMESPAN)));
    server_->Wait();
    server_.reset();
    connections_.clear();
  }

 private:
  void AcceptUntilStopped() {
    while (true) {
      std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      for (const auto& connection : connections_)
        fds.push_back({connection.watch.get(), POLLRDHUP, 0});
      const size_t of_refused = fds.size();
      refusals_.AppendTo(fds);
      if (poll(fds.data(), fds.size(), PatienceMs()) < 0 && errno != EINTR) return;
      if ((fds[1].revents & POLLIN) != 0) return;
      refusals_.Serve(std::span(fds).subspan(of_refused));
      ForgetEnded(fds);
      if ((fds[0].revents & POLLIN) != 0) AcceptOne();
      if (options_.limits != nullptr) options_.limits->CancelOverdue();
    }
  }

  /// -1: no connection is due.
  int PatienceMs() const {
    const int refused = refusals_.PatienceMs();
    if (options_.limits == nullptr) return refused;
    return refused < 0 ? kLookMs : std::min(refused, kLookMs);
  }

  void AcceptOne() {
    SocketFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) {
      if (errno == EMFILE || errno == ENFILE) WaitForFds();
      return;
    }
    const Peer peer = PeerOfSocket(fd.get());
    if (!Allowed(peer.uid)) {
      refusals_.Add(std::move(fd), peer.uid, WhyRefused(peer.uid));
      return NoteRefused(peer, "refused a connection");
    }
    if (!HasRoom(peer)) return NoteRefused(peer, "refused a connection: too many connections");
    SocketFd watch(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (watch.get() < 0) return WaitForFds();
    connections_.push_back({std::move(watch), peer});
    grpc::AddInsecureChannelFromFd(server_.get(), fd.Release());
  }

  /// Logs once for each user and reason.
  void NoteRefused(const Peer& peer, const char* what) {
    if (refused_.emplace(peer.uid, what).second)
      log_.Warn(what, {KV("uid", peer.uid), KV("pid", peer.pid)});
  }

  bool HasRoom(const Peer& peer) const {
    const auto of_user = [&](const Connection& c) { return c.peer.uid == peer.uid; };
    // A process of another pid namespace has pid 0: then only its user counts.
    const auto of_process = [&](const Connection& c) {
      return of_user(c) && peer.pid != 0 && c.peer.pid == peer.pid;
    };
    const ConnectionLimits& limits = options_.connections;
    return std::ranges::count_if(connections_, of_process) < limits.per_process &&
           std::ranges::count_if(connections_, of_user) < limits.per_user &&
           std::ssize(connections_) < limits.all;
  }

  /// `fds`: after the first two entries, the connections. Either side may have ended them.
  void ForgetEnded(const std::vector<pollfd>& fds) {
    for (size_t i = connections_.size(); i > 0; --i)
      if ((fds[i + 1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
        connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }

  /// The connection waits in the backlog. Without a pause this thread would spin until a descriptor
  /// is free.
  void WaitForFds() {
    pollfd wake{wake_.get(), POLLIN, 0};
    poll(&wake, 1, 100);
  }

  bool Allowed(uint32_t uid) const {
    return std::ranges::find(allowed_uids_, uid) != allowed_uids_.end();
  }

  Status WhyRefused(uint32_t uid) const {
    return PermissionDenied(
        "user {} is not served, whatever its groups: this process serves the users {}", uid,
        fmt::join(allowed_uids_, ", "));
  }

  const ServerOptions options_;
  const Log log_;
  const std::vector<uint32_t> allowed_uids_;
  const RealClock clock_;
  SocketFd listener_, wake_;
  std::unique_ptr<grpc::Server> server_;
  /// gRPC owns the socket; a second descriptor of it shows when the connection ends.
  struct Connection {
    SocketFd watch;
    Peer peer;
  };
  std::vector<Connection> connections_;                 // acceptor's thread
  Refusals refusals_{clock_};                           // acceptor's thread
  std::set<std::pair<uint32_t, std::string>> refused_;  // acceptor's thread
  std::jthread acceptor_;
};

}  // namespace

Peer PeerOfSocket(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {credentials.uid, credentials.pid};
}

StatusOr<Peer> ListenerOf(const std::string& socket_path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(socket_path), "connect");
  ASSIGN_OR_RETURN(const SocketFd fd, NewSocket(), "connect");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return PeerOfSocket(fd.get());
  if (errno == EAGAIN) return Peer{};  // the queue is full, so a listener exists
  if (errno == EACCES) return PermissionDenied("no permission for {}", socket_path);
  return Unavailable("nothing listens on {}", socket_path);
}

Peer PeerOfName(std::string_view name) {
  int fd = -1;
  if (!name.starts_with("fd:")) return {};
  name.remove_prefix(3);
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), fd);
  return parsed.ec == std::errc() ? PeerOfSocket(fd) : Peer{};
}

Peer PeerOf(const grpc::ServerContextBase& context) { return PeerOfName(context.peer()); }

Duration TimeLeft(const grpc::ServerContextBase& context, Duration at_most) {
  const gpr_timespec end = context.raw_deadline();
  const gpr_timespec left = gpr_time_sub(end, gpr_now(end.clock_type));
  // A deadline of a caller that waits for ever does not fit into a Duration.
  if (left.tv_sec >= std::chrono::ceil<std::chrono::seconds>(at_most).count()) return at_most;
  const Duration exactly =
      std::chrono::seconds{left.tv_sec} + std::chrono::nanoseconds{left.tv_nsec};
  return std::clamp(exactly, Duration{0}, at_most);
}

std::string TraceparentOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("traceparent");
  return it == metadata.end() ? std::string() : std::string(it->second.data(), it->second.size());
}

StatusOr<std::unique_ptr<Server>> StartServer(ServerOptions options, Log log) {
  ASSIGN_OR_RETURN(SocketFd listener, Listen(options.socket_path), "open socket");
  SocketFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return Annotate(ErrnoStatus(errno), "make an eventfd");
  auto server =
      std::make_unique<UnixServer>(std::move(options), log, std::move(listener), std::move(wake));
  RETURN_IF_ERROR(server->Start(), "start server");
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace splitlet::rpc
