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

/// Never fails: the peer may come later. Calls wait until it is there or their deadline; one whose
/// connection ends beneath it is UNAVAILABLE, and whether it was carried out is not known.
/// The peer's socket must belong to `server_uid`; where that is not given, to this user, to root,
/// or to the owner of its directory where this user or root made that directory and strangers
/// cannot write there. It must be a socket and no link: else the owner of its directory could lead
/// callers to another's. Else calls are PERMISSION_DENIED. Calls are counted in `metrics` if there
/// are any; they outlive the calls.
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

}  // namespace splitlet::rpc
