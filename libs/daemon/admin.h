#pragma once

/// The gRPC service Admin: how a process fares, fail points, a way past unreadable files, the level
/// of its log.
/// Threads: gRPC's; reads only what may be read from there. Errors are gRPC codes.
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

/// What the process does for it, on a thread of gRPC's.
struct AdminCalls {
  std::function<void(v1::ProcessInfo&)> fill;  // for each GetProcess
  /// The new paths of what was put aside.
  std::function<StatusOr<std::vector<std::string>>(const std::string& uid)> discard;
  /// The level before.
  std::function<LogLevel(LogLevel level)> set_log_level;
};
std::unique_ptr<grpc::Service> MakeAdminService(std::string process, AdminCalls calls);

}  // namespace splitlet::daemon
