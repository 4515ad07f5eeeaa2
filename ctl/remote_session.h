#pragma once

/// A command in a container as the runtime's streaming server has it: its three streams are ours,
/// over one WebSocket.
/// Threads: the calling one; it blocks until the command has ended, or a signal ends it.
/// Errors: UNAVAILABLE without a connection, or when it breaks before the command's end is told;
/// CANCELLED by a signal; those of ParseExit.
/// Source: RFC 6455; Kubernetes API, remote command v4.channel.k8s.io and v5.channel.k8s.io.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct RemoteOptions {
  std::string url;
  bool tty = false;    // `in` is a terminal: its size is told, and it is the caller's to make raw
  bool input = false;  // send what `in` has
  int in = 0, out = 1, err = 2;
  Duration connect_limit = 10s;
};

struct RemoteEnd {
  int exit_code = 0;
  /// Our input ended, and the server knows no way to tell the command so: it may have waited on.
  bool open_input = false;
};
StatusOr<RemoteEnd> RunRemote(const RemoteOptions& options);

}  // namespace splitlet::ctl
