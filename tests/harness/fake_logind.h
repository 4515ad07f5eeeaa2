#pragma once

/// Answers like systemd-logind and systemd for clients that take shutdown inhibitor locks; behind a
/// FakeDaemon or a real bus.
/// Threads: the bus's; functions for the test are guarded by a mutex.
/// Errors: none; unknown calls are UNAVAILABLE.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libs/dbus/bus.h"
#include "libs/fs/fd.h"

namespace splitlet::harness {

class FakeLogind {
 public:
  static constexpr const char* kName = "org.freedesktop.login1";
  static constexpr const char* kSystemdName = "org.freedesktop.systemd1";

  StatusOr<dbus::Values> Answer(const dbus::MethodCall& call) {
    const std::lock_guard guard(mutex_);
    if (call.member == "Get") return GetProperty(call);
    if (call.member == "Inhibit") return Inhibit(call);
    if (call.member != "KillUnit") return Unavailable("no {} here", call.member);
    reloads_.push_back(call.arguments);
    max_delay_usec_ = delay_after_reload_usec_;
    return dbus::Values{};
  }
  dbus::Signal Prepare(bool preparing) {
    const std::lock_guard guard(mutex_);
    preparing_ = preparing;
    return {{"/org/freedesktop/login1"},
            "org.freedesktop.login1.Manager",
            "PrepareForShutdown",
            {dbus::Value(preparing)}};
  }
  void SetDelay(uint64_t usec, uint64_t after_reload_usec) {
    const std::lock_guard guard(mutex_);
    max_delay_usec_ = usec;
    delay_after_reload_usec_ = after_reload_usec;
  }
  /// Number of locks that clients still hold open.
  int Locks() const {
    const std::lock_guard guard(mutex_);
    return static_cast<int>(std::ranges::count_if(locks_, [](const fs::Fd& lock) {
      pollfd ask{.fd = lock.get(), .events = 0, .revents = 0};
      return ::poll(&ask, 1, 0) == 0;
    }));
  }
  std::vector<dbus::Values> inhibits() const {
    const std::lock_guard guard(mutex_);
    return inhibits_;
  }
  std::vector<dbus::Values> reloads() const {
    const std::lock_guard guard(mutex_);
    return reloads_;
  }

 private:
  StatusOr<dbus::Values> GetProperty(const dbus::MethodCall& call) const {
    ASSIGN_OR_RETURN(const auto name, dbus::Get<std::string>(call.arguments, 1), "name");
    if (name == "PreparingForShutdown") return dbus::Values{dbus::Variant(preparing_)};
    if (name == "InhibitDelayMaxUSec") return dbus::Values{dbus::Variant(max_delay_usec_)};
    return NotFound("no property {}", name);
  }
  StatusOr<dbus::Values> Inhibit(const dbus::MethodCall& call) {
    if (preparing_) return FailedPrecondition("the operation is already running");
    inhibits_.push_back(call.arguments);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno);
    locks_.emplace_back(ends[0]);
    return dbus::Values{dbus::Value(dbus::Handle(std::make_shared<fs::Fd>(ends[1])))};
  }

  mutable std::mutex mutex_;
  bool preparing_ = false;
  uint64_t max_delay_usec_ = 5'000'000, delay_after_reload_usec_ = 5'000'000;
  std::vector<dbus::Values> inhibits_, reloads_;
  std::vector<fs::Fd> locks_;  // the read ends of the locks
};

}  // namespace splitlet::harness
