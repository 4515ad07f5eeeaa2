#pragma once

/// A listening unix socket for what a server of ours would not do: a full queue, a dead file.
/// Threads: one.
/// Errors: one that cannot be made fails the test at once.

#include <string>

namespace splitlet::harness {

class ListeningSocket {
 public:
  /// Takes the place of what is at `path`. Up to `queue` and one more connections wait.
  explicit ListeningSocket(const std::string& path, int queue = 16);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  /// Its file stays, as that of a killed process does.
  void Close();
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace splitlet::harness
