#pragma once

/// A test's nats-server: a free port of the loopback, TLS unless told otherwise, killed with it.
/// Threads: one. The test runs in the root of the tree.
/// Errors: a server that cannot be started fails the test.

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::harness {

/// Its password is "pw". Subjects as nats-server wants them: quoted, with commas between.
struct NatsUser {
  std::string name;
  std::string publish;
  std::string subscribe;  // beside its own inbox
};

enum class NatsTls { kOn, kOff };

class NatsServer {
 public:
  /// Without users everybody may do everything. Not started yet.
  explicit NatsServer(const std::string& dir, const std::vector<NatsUser>& users = {},
                      NatsTls tls = NatsTls::kOn);
  ~NatsServer();  // kills it
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  void Start();
  void Signal(int signal) const;
  /// Signals, and waits until it has ended; nothing when it does not run.
  void Kill(int signal);
  /// Other keys and another CA, as an administrator does it; the running server takes them.
  void ReplaceKeys() const;
  pid_t pid() const { return pid_; }
  std::string url() const;
  std::string ca() const;  // path; empty without TLS
  /// Path of the user's file of credentials.
  std::string Creds(const std::string& user) const;

 private:
  const std::string dir_;
  const NatsTls tls_;
  const int port_;
  pid_t pid_ = 0;
};

}  // namespace splitlet::harness
