#pragma once

/// The gRPC service Admin: state of the process, fail points, discarding of unreadable records, log
/// level.
/// Threads: gRPC's. Errors are gRPC codes.
/// Source: docs/design.md, "The calls" and "Fault injection".

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"

namespace grpc {
class Service;
}
namespace splitlet::v1 {
class ProcessInfo;
}

namespace splitlet::daemon {

/// Calls into the process, on a thread of gRPC's.
struct AdminCalls {
  std::function<void(v1::ProcessInfo&)> fill;  // for each GetProcess
  /// The new paths of the discarded files.
  std::function<StatusOr<std::vector<std::string>>(const std::string& uid)> discard;
  /// The level before the call.
  std::function<LogLevel(LogLevel level)> set_log_level;
};
std::unique_ptr<grpc::Service> MakeAdminService(std::string process, AdminCalls calls);

}  // namespace splitlet::daemon
