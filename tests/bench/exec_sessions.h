#pragma once

/// Sessions of exec that are open at the same time, and a streaming server that they end at.
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

/// As a runtime has one: takes every upgrade, and sends back what it gets.
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

/// Open until the end of the object.
class ExecSessions {
 public:
  /// One that is upgraded; null: it could not be opened. Any thread.
  using Connect = std::function<std::unique_ptr<https::TestClient>()>;
  /// Opens so many, eight at a time.
  ExecSessions(size_t count, const Connect& connect);

  double opened_ms() const { return opened_ms_; }
  /// That were not opened, or did not give a line back.
  size_t silent() const { return silent_; }
  /// A line there and back in each, one after the other, the others idle.
  std::vector<double> RoundTripsMs();
  /// A line in all of them at once, until all are back.
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

/// Asks for an upgrade and awaits it. `path`: with its query.
bool Upgraded(https::TestClient& client, const std::string& path);

/// As many descriptors as this process is allowed: some hundred sessions have two each.
void RaiseDescriptorLimit();

}  // namespace splitlet::bench
