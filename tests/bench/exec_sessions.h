#pragma once

/// exec sessions that are open at the same time, and a streaming server for them.
/// Threads: the owner's; the server and the openings have their own.
/// Errors:  a server that cannot be started ends the benchmark; a session that does not open or
///          answer is counted.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libs/base/clock.h"
#include "libs/fs/fd.h"
#include "libs/https/test_client.h"

namespace splitlet::bench {

/// A streaming server like a runtime's: accepts every upgrade, and echoes all bytes.
class EchoServer {
 public:
  EchoServer();
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  std::string Url() const;
  uint16_t port = 0;

 private:
  void Run();
  void Watch(int descriptor) const;

  const fs::Fd listener_, events_, stop_;
  std::thread thread_;
};

/// Sessions that stay open until the object is destroyed.
class ExecSessions {
 public:
  /// An upgraded connection; null: it could not be opened. Called on any thread.
  using Connect = std::function<std::unique_ptr<https::TestClient>()>;
  /// Opens this many, eight at a time.
  ExecSessions(size_t count, const Connect& connect);

  double opened_ms() const { return opened_ms_; }
  /// Number of sessions that were not opened, or did not echo a line.
  size_t silent() const { return silent_; }
  /// Echoes a line in each session, one after the other, while the others are idle.
  std::vector<double> RoundTripsMs();
  /// Echoes a line in all sessions at the same time.
  double AllAtOnceMs();

 private:
  using Session = std::unique_ptr<https::TestClient>;
  bool Sent(const Session& session) const;
  bool CameBack(const Session& session) const;

  const RealClock clock_;
  std::vector<Session> sessions_;
  double opened_ms_ = 0;
  size_t silent_ = 0;
};

/// Requests an upgrade and waits for it. `path`: with query.
bool Upgraded(https::TestClient& client, const std::string& path);

/// Raises the limit of descriptors to the maximum: some hundred sessions have two each.
void RaiseDescriptorLimit();

}  // namespace splitlet::bench
