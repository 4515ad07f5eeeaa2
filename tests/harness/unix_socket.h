#pragma once

/// A listening unix socket that behaves badly: a full queue, or a dead file.
/// Threads: one.
/// Errors: a socket that cannot be created fails the test immediately.

#include <string>

namespace splitlet::harness {

class ListeningSocket {
 public:
  /// Replaces what is at `path`. At most `queue` plus one connections wait.
  explicit ListeningSocket(const std::string& path, int queue = 16);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  /// The file stays, like that of a killed process.
  void Close();
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace splitlet::harness
