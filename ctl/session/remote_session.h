#pragma once

/// Connects our input and output to a command in a container, over a SPDY session with the
/// runtime's streaming server.
/// In:      descriptors of the caller; signals; streams of the server.
/// Threads: the calling one; it blocks until the command has ended, or a signal ends it.
/// Errors:  UNAVAILABLE without a session, or when it breaks before the exit code comes; CANCELLED
///          by a signal, or when the reader of the output is gone; those of ParseExit.
/// Source:  Kubernetes API, remote command v4.channel.k8s.io; client-go's remotecommand package.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct RemoteOptions {
  std::string url;
  bool input = false;  // sends `in` to its end; the runtime was asked the same
  bool tty = false;    // the command has a terminal and no stderr; the runtime was asked the same
  bool terminal = false;  // `in` is a terminal, which the caller has made raw: its size is sent
  int in = 0, out = 1, err = 2;
  Duration open_limit = 10s;  // until the session, and then until its streams stand
};
/// The exit code.
StatusOr<int> RunRemote(const RemoteOptions& options);

}  // namespace splitlet::ctl
