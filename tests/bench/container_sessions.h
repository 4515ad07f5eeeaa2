#pragma once

/// exec sessions in a real container that are opened all at once, by WebSocket, as a runtime's
/// streaming server speaks it.
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

/// `cat` in a container.
class WebSocketSession {
 public:
  /// Upgraded on return, unless !open(). `target`: path with query.
  WebSocketSession(std::unique_ptr<https::TestClient> client, const std::string& target);

  bool open() const { return open_; }
  /// A line there and back, within a minute.
  bool Echoes();

 private:
  bool ReadMore();
  /// What the container wrote comes to `stdout_`; false: there is no whole frame yet.
  bool TakeFrame();

  const std::unique_ptr<https::TestClient> client_;
  std::string received_, stdout_;
  bool open_ = false;
};

/// Open until the end of the object.
class ContainerSessions {
 public:
  /// A connection that is ready for a request, and where to ask; any thread. Null: it was refused.
  struct Way {
    std::unique_ptr<https::TestClient> client;
    std::string target;
  };
  using Connect = std::function<Way()>;
  /// So many at once, each with a thread of its own. Returns when each has sent a line back or
  /// failed.
  ContainerSessions(size_t count, const Connect& connect);

  /// From the first request until the last answer.
  double answered_ms() const { return answered_ms_; }
  size_t refused() const { return refused_; }  // not opened
  size_t silent() const { return silent_; }    // opened, and sent nothing back
  /// How many do not send one more line back, all being open.
  size_t SilentNow();

 private:
  const RealClock clock_;
  std::vector<std::unique_ptr<WebSocketSession>> sessions_;
  double answered_ms_ = 0;
  size_t refused_ = 0, silent_ = 0;
};

}  // namespace splitlet::bench
