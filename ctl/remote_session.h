#pragma once

/// A command in a container as the runtime's streaming server has it: its input and output are
/// ours, over a SPDY session with a stream for each.
/// In:      descriptors of the caller; signals; streams of the server.
/// Threads: the calling one; it blocks until the command has ended, or a signal ends it.
/// Errors:  UNAVAILABLE without a session, or when it breaks before the command's end is told;
///          CANCELLED by a signal, or when nobody reads the output; those of ParseExit.
/// Source:  Kubernetes API, remote command v4.channel.k8s.io; client-go's remotecommand package.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct RemoteOptions {
  std::string url;
  bool input = false;     // `in` is sent, and its end; as the runtime was asked
  bool tty = false;       // the command has a terminal, and no stderr; as the runtime was asked
  bool terminal = false;  // `in` is a terminal: its size is told, and the caller has made it raw
  int in = 0, out = 1, err = 2;
  Duration open_limit = 10s;  // until the session, and then until its streams stand
};
/// The exit code.
StatusOr<int> RunRemote(const RemoteOptions& options);

}  // namespace splitlet::ctl
