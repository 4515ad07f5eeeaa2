#pragma once

/// The connections that libcurl has opened for a transport: those over which a server says nothing
/// any more are ended, and so is all that goes on on them. A server that hangs, or a balancer
/// before one that is gone, acknowledges whatever it gets, so that neither keep-alive nor the
/// kernel's time-outs end them; and libcurl takes the oldest connection of HTTP/2 that it has for
/// the next request, also when the last one on it has timed out.
/// Threads: libcurl's.
/// Errors:  none. Where the kernel does not tell when something came last, nothing is ended.
/// Source:  docs/behaviour/api-client.md, "The way there".

#include <sys/types.h>

#include <map>

#include "libs/base/clock.h"

namespace splitlet::apiclient {

class Connections {
 public:
  /// libcurl has made this socket. It closes some without a word, so their numbers are not trusted.
  void OnOpened(int socket);
  /// A request has waited so long for its answer in vain: ends those over which something was sent
  /// in that time, and nothing has come.
  void EndUnanswered(Duration waited);
  /// Ends those over which nothing has come for so long.
  void EndQuiet(Duration quiet);

 private:
  struct Quiet {
    Duration sent{0}, received{0};  // how long ago anything was
  };
  template <class Ends>
  void EndIf(Ends ends);

  std::map<int, ino_t> opened_;  // which socket it was
};

}  // namespace splitlet::apiclient
