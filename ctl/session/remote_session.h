#pragma once

/// Connects our input and output to a command in a container, over a SPDY session with the
/// runtime's streaming server.
/// In:      descriptors of the caller; signals; streams of the server.
/// Threads: the calling one; it blocks until the command has ended, or a signal ends it.
/// Errors:  UNAVAILABLE without a session, or when it breaks before the exit code comes;
///          CANCELLED by a signal, or when the output was closed; those of ParseExit.
/// Source:  Kubernetes API, remote command v4.channel.k8s.io; client-go's remotecommand package.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct RemoteOptions {
  std::string url;
  bool input = false;     // sends `in` to its end; must match the request to the runtime
  bool tty = false;       // the command has a terminal and no stderr; must match the request to the
                          // runtime
  bool terminal = false;  // `in` is a terminal, made raw by the caller: its size is sent
  int in = 0, out = 1, err = 2;
  Duration open_limit = 10s;  // limit for the session, and again for its streams
};
/// Returns the exit code.
StatusOr<int> RunRemote(const RemoteOptions& options);

}  // namespace splitlet::ctl
