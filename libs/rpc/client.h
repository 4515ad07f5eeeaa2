#pragma once

/// The calling side.
/// Threads: any.
/// Errors: gRPC codes, unchanged.
/// Source: docs/libraries.md, "gRPC".

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace splitlet::rpc {

class CallMetrics;

/// Never fails: the peer may start later. Calls wait for the peer up to their deadline. A call
/// whose connection ends is UNAVAILABLE, and may have been carried out. The peer's socket must
/// belong to `server_uid`; without that, to this user, to root, or to the owner of its directory,
/// if this user or root made the directory and no other user can write there. The path must be a
/// socket and no link, since the owner of the directory could lead callers to another process.
/// Otherwise calls are PERMISSION_DENIED. `metrics` may be null and outlive the calls.
std::shared_ptr<grpc::Channel> Connect(const std::string& socket_path,
                                       CallMetrics* metrics = nullptr,
                                       std::optional<uint32_t> server_uid = std::nullopt);
/// Connect for a CRI endpoint: "unix:///run/containerd/containerd.sock", or a bare path; libs/cri
/// counts its calls.
std::shared_ptr<grpc::Channel> ConnectEndpoint(const std::string& endpoint);

/// Connect for the socket of a plugin, which another vendor writes: a message has at most
/// kPluginMessageBytes in either direction. A longer answer is RESOURCE_EXHAUSTED.
inline constexpr int kPluginMessageBytes = 4 << 20;
std::shared_ptr<grpc::Channel> ConnectPlugin(const std::string& socket_path);
/// The refusal that calls of Connect(socket_path) would get because of the socket's owner. OK too
/// if nothing is at the path.
Status CheckSocketOwner(const std::string& socket_path);

/// Sets deadline, wait-for-ready and traceparent of a call; the deadline's token cancels the call.
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

}  // namespace splitlet::rpc
