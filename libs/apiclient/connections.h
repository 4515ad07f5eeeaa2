#pragma once

/// libcurl's connections of a transport: ends connections over which the server is silent, with all
/// their requests. A hung server, or a balancer in front of a dead one, acknowledges whatever it
/// gets, so neither keep-alive nor the kernel's time-outs end such a connection; and libcurl reuses
/// its oldest HTTP/2 connection even if the last request on it timed out.
/// Threads: libcurl's.
/// Errors:  none. If the kernel does not know when data came last, no connection is ended.
/// Source:  docs/behaviour/api-client.md, "The way there".

#include <sys/types.h>

#include <map>

#include "libs/base/clock.h"

namespace splitlet::apiclient {

class Connections {
 public:
  /// libcurl opened this socket. libcurl closes some sockets silently, so a descriptor number does
  /// not identify one.
  void OnOpened(int socket);
  /// A request has waited this long without an answer: ends connections that sent bytes in that
  /// time and received none.
  void EndUnanswered(Duration waited);
  /// Ends connections that received nothing for this long.
  void EndQuiet(Duration quiet);

 private:
  struct Quiet {
    Duration sent{0}, received{0};  // time since the last byte
  };
  template <class Ends>
  void EndIf(Ends ends);

  std::map<int, ino_t> opened_;  // identifies the socket
};

}  // namespace splitlet::apiclient
