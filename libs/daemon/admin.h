#pragma once

/// The gRPC service Admin of every process: who it is, how it fares, its fail points.
/// Threads: gRPC's; reads only what may be read from there. Errors: gRPC codes.
/// Source: DESIGN.md "The calls" and "Fault injection".

#include <functional>
#include <memory>
#include <string>

namespace grpc {
class Service;
}
namespace splitlet::v1 {
class ProcessInfo;
}

namespace splitlet::daemon {

/// `fill` is called for each GetProcess.
std::unique_ptr<grpc::Service> MakeAdminService(std::string process,
                                                std::function<void(v1::ProcessInfo&)> fill);

}  // namespace splitlet::daemon
