#pragma once

/// A gRPC service, with methods added later too, behind checks of caller, method and limits.
/// Threads: the check runs on gRPC's threads, before the request is decoded.
/// Errors: to the caller PERMISSION_DENIED, RESOURCE_EXHAUSTED; INVALID_ARGUMENT: not guardable.
/// Source: docs/design.md, "The calls"; docs/safety.md, rule 31.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"

namespace grpc {
class Service;
}

namespace splitlet::rpc {

class CallLimits;

/// `method`: "splitlet.v1.Pleg/Relist"; `uid`: of the peer, by SO_PEERCRED.
using MayCall = std::function<bool(const std::string& method, uint32_t uid)>;

/// `inner` is an implementation of the service `full_name` ("splitlet.v1.Pleg") with blocking
/// handlers and no client streams; it and `limits` outlive the result, which is served in its
/// place.
StatusOr<std::unique_ptr<grpc::Service>> Guard(grpc::Service& inner, const std::string& full_name,
                                               MayCall may_call, CallLimits& limits);

}  // namespace splitlet::rpc
