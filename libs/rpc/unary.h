#pragma once

/// Makes a unary call by its stub's method; returns the server's error unchanged.
/// Threads: any; blocks until the answer or the call's deadline.

#include <grpcpp/support/status.h>

#include "libs/rpc/rpc.h"

namespace splitlet::rpc {

template <class Stub, class Request, class Reply>
StatusOr<Reply> Unary(ClientCall& call, Stub& stub,
                      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                      const Request& request) {
  Reply reply;
  Status status = FromGrpc((stub.*method)(&call.context(), request, &reply));
  if (!status.ok()) return status;
  return reply;
}

}  // namespace splitlet::rpc
