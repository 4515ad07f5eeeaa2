#pragma once

/// exec sessions in a real container, all opened at the same time, over the WebSocket protocol of a
/// runtime's streaming server.
/// Threads: one for each session while they open; the owner's afterwards.
/// Errors:  a session that does not open or answer is counted, with a line on stderr.
/// Source:  RFC 6455; Kubernetes API, remote command v4.channel.k8s.io.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/https/test_client.h"

namespace splitlet::bench {

/// A session with `cat` in a container.
class WebSocketSession {
 public:
  /// Upgraded on return, unless !open(). `target`: path with query.
  WebSocketSession(std::unique_ptr<https::TestClient> client, const std::string& target);

  bool open() const { return open_; }
  /// Sends a line and waits for its echo, for up to a minute.
  bool Echoes();

 private:
  bool ReadMore();
  /// Moves the container's output to `stdout_`; false: no complete frame yet.
  bool TakeFrame();

  const std::unique_ptr<https::TestClient> client_;
  std::string received_, stdout_;
  bool open_ = false;
};

/// Sessions that stay open until the object is destroyed.
class ContainerSessions {
 public:
  /// A connection that is ready for a request, and the request's target; called on any thread.
  /// Null: refused.
  struct Way {
    std::unique_ptr<https::TestClient> client;
    std::string target;
  };
  using Connect = std::function<Way()>;
  /// Opens this many sessions at the same time, each on a thread of its own. Returns when each has
  /// echoed a line or failed.
  ContainerSessions(size_t count, const Connect& connect);

  /// Time from the first request until the last answer.
  double answered_ms() const { return answered_ms_; }
  size_t refused() const { return refused_; }  // number of sessions that were not opened
  size_t silent() const { return silent_; }    // number of open sessions without an echo
  /// Number of sessions that do not echo one more line while all are open.
  size_t SilentNow();

 private:
  const RealClock clock_;
  std::vector<std::unique_ptr<WebSocketSession>> sessions_;
  double answered_ms_ = 0;
  size_t refused_ = 0, silent_ = 0;
};

}  // namespace splitlet::bench
