#pragma once

/// A test's nats-server: on a free port of loopback, with TLS by default, killed with the test.
/// Threads: one. The test must run in the root of the tree.
/// Errors: a server that cannot be started fails the test.

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::harness {

/// The password is "pw". Subjects in nats-server's syntax: quoted, separated by commas.
struct NatsUser {
  std::string name;
  std::string publish;
  std::string subscribe;  // in addition to its own inbox
};

enum class NatsTls { kOn, kOff };

class NatsServer {
 public:
  /// Without users every client has all rights. Not started yet.
  explicit NatsServer(const std::string& dir, const std::vector<NatsUser>& users = {},
                      NatsTls tls = NatsTls::kOn);
  ~NatsServer();  // kills the server
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  void Start();
  void Signal(int signal) const;
  /// Sends a signal, and waits for the end of the server; does nothing if it does not run.
  void Kill(int signal);
  /// Replaces keys and CA like an administrator; the running server reloads them.
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
