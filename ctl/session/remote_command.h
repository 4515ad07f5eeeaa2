#pragma once

/// Control messages of a command in a container: version 4 of Kubernetes' remote command protocol,
/// in which each kind of bytes has a stream.
/// Threads: any.
/// Errors:  of ParseExit: UNKNOWN when the command did not run, or no exit code arrived;
///          of ParseStreamUrl: INVALID_ARGUMENT, UNIMPLEMENTED for https.
/// Source:  Kubernetes API, remote command v4.channel.k8s.io.

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::ctl {

inline constexpr const char* kRemoteCommandProtocol = "v4.channel.k8s.io";

struct TerminalSize {
  uint16_t columns = 0, rows = 0;
  bool operator==(const TerminalSize&) const = default;
};
/// A message of the stream "resize".
std::string ResizeMessage(const TerminalSize& size);

/// The exit code from a Status as JSON, the only content of the stream "error".
StatusOr<int> ParseExit(std::string_view status_json);

/// Splits "http://127.0.0.1:4000/exec/token".
struct StreamUrl {
  std::string host;
  uint16_t port = 0;
  std::string target;  // path and query
};
StatusOr<StreamUrl> ParseStreamUrl(std::string_view url);

}  // namespace splitlet::ctl
