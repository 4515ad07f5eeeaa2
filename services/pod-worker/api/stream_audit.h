#pragma once

/// A line in the log for each caller that opens a stream into a pod. Commands are left out: they
/// may hold secrets.
/// Threads: pure functions, any; nothing fails.
/// Source: docs/behaviour/streams.md.

#include <cstdint>
#include <vector>

#include "libs/base/log.h"

namespace splitlet::v1 {
class OpenStreamRequest;
class RunCommandRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

inline constexpr const char* kAuditMessage = "entering a pod";

/// `caller`: user id of the process that asks, by its socket.
std::vector<LogField> AuditFields(const v1::OpenStreamRequest& request, uint32_t caller);
std::vector<LogField> AuditFields(const v1::RunCommandRequest& request, uint32_t caller);

}  // namespace splitlet::pod_worker
