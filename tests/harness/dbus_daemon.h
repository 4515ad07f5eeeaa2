#pragma once

/// A test's own D-Bus: a dbus-daemon in its directory that allows everything to this user, killed
/// with the test.
/// Threads: one.
/// Errors:  a daemon that cannot be started fails the test.

#include <sys/types.h>

#include <string>

namespace splitlet::harness {

class DbusDaemon {
 public:
  /// Running; its socket exists.
  explicit DbusDaemon(const std::string& dir);
  ~DbusDaemon();  // kills the daemon
  DbusDaemon(const DbusDaemon&) = delete;
  DbusDaemon& operator=(const DbusDaemon&) = delete;

  void Start();
  void Kill();
  void Signal(int signal) const;
  std::string address() const { return "unix:path=" + socket(); }

 private:
  std::string socket() const { return dir_ + "/dbus.sock"; }
  const std::string dir_;
  pid_t pid_ = 0;
};

}  // namespace splitlet::harness
