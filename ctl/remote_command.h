#pragma once

/// Messages of the Kubernetes remote-command protocol over WebSocket: the first byte is a channel.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for a message that is none.
/// Source: Kubernetes API, remote command v4.channel.k8s.io and v5.channel.k8s.io.

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::ctl {

enum class Channel : uint8_t { kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4 };

inline constexpr const char* kProtocolV5 = "v5.channel.k8s.io";
inline constexpr const char* kProtocolV4 = "v4.channel.k8s.io";

struct TerminalSize {
  uint16_t columns = 0, rows = 0;
  bool operator==(const TerminalSize&) const = default;
};

std::string StdinMessage(std::string_view bytes);
std::string ResizeMessage(const TerminalSize& size);
/// Half-closes stdin; of v5 only.
std::string CloseStdinMessage();

struct RemoteMessage {
  Channel channel = Channel::kStdout;
  std::string_view bytes;  // of the message that was parsed
};
StatusOr<RemoteMessage> ParseRemoteMessage(std::string_view message);

/// The exit code that the message of kError tells; an error when the command did not run, or how it
/// ended is not told.
StatusOr<int> ParseExit(std::string_view status_json);

/// "http://127.0.0.1:4000/exec/token" in its parts.
struct StreamUrl {
  std::string host;
  uint16_t port = 0;
  std::string target;  // path and query
};
StatusOr<StreamUrl> ParseStreamUrl(std::string_view url);

}  // namespace splitlet::ctl
