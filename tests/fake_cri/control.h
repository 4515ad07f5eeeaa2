#pragma once

/// Controls a running fake-cri over its control socket: one line as command, one line as answer
/// (see README.md).
/// Threads: one at a time; calls block up to 10 s.
/// Errors: those of the command; UNAVAILABLE if fake-cri is not running.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fake_cri {

/// A pod is named by its UID, its name, or its name without "-<node>"; "*" means all.
class Control {
 public:
  explicit Control(std::string socket) : socket_(std::move(socket)) {}

  /// The rest of the answer after "OK ".
  StatusOr<std::string> Send(const std::string& line);

  Status ExitContainer(const std::string& id, int code);
  Status ExitContainer(const std::string& pod, const std::string& container, int code);
  /// Term: "hang", "error UNAVAILABLE", "lose UNAVAILABLE", "delay 2s", each with an optional count
  /// "3*", or "off". The method "*" means every method.
  Status Fault(const std::string& method, const std::string& pod, const std::string& term);
  Status ClearFaults();
  /// "exit_after=2s exit_code=1 term_after=never ..."; several, joined by " | ", apply to the first
  /// start, the second and so on.
  Status Behave(const std::string& pod, const std::string& container, const std::string& behaviour);
  Status AddUnmanagedPod(const std::string& name, const std::string& uid);
  /// Simulates a reboot: containers exited, sandboxes not ready.
  Status StopEverything();
  Status SetDown(bool down);
  /// {"sandboxes":[...],"containers":[...],"violations":[...]}
  StatusOr<std::string> List();

 private:
  std::string socket_;
};

}  // namespace splitlet::fake_cri
