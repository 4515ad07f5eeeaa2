#pragma once

/// A machine that a test shuts down.
/// Threads: one.
/// Errors: those that the test sets.

#include <utility>

#include "services/gc/protect/shutdown/shutdown_source.h"

namespace splitlet::gc {

class FakeShutdownSource final : public ShutdownSource {
 public:
  /// The state of the machine; outlives the process.
  struct Machine {
    Status connect, lock, reload;
    bool preparing = false;
    Duration max_delay = std::chrono::seconds{5};
    Duration max_delay_after_reload = std::chrono::seconds{5};
    int locks = 0, connects = 0, reloads = 0;  // numbers of calls
    bool locked = false;
    Events listener;
    const void* connected = nullptr;  // the source that is connected and may hold the lock
    void Say(bool to_prepare) {
      preparing = to_prepare;
      if (listener.on_preparing) listener.on_preparing(to_prepare);
    }
    void Lose() {
      const Events before = std::exchange(listener, {});
      if (before.on_lost) before.on_lost(Unavailable("the bus is gone"));
    }
  };
  explicit FakeShutdownSource(Machine& machine) : machine_(machine) {}
  ~FakeShutdownSource() override {
    if (machine_.connected != this) return;
    machine_.listener = {};
    machine_.locked = false;
  }
  FakeShutdownSource(const FakeShutdownSource&) = delete;
  FakeShutdownSource& operator=(const FakeShutdownSource&) = delete;

  StatusOr<State> Connect(Events events, const Deadline&) override {
    ++machine_.connects;
    if (!machine_.connect.ok()) return machine_.connect;
    machine_.listener = std::move(events);
    machine_.connected = this;
    return State{machine_.preparing, machine_.max_delay};
  }
  StatusOr<Duration> ReadMaxDelay(const Deadline&) override {
    if (!machine_.listener.on_lost) return Unavailable("not connected");
    return machine_.max_delay;
  }
  Status Reload(const Deadline&) override {
    ++machine_.reloads;
    if (!machine_.reload.ok()) return machine_.reload;
    machine_.max_delay = machine_.max_delay_after_reload;
    return OkStatus();
  }
  Status TakeLock(const Deadline&) override {
    if (!machine_.listener.on_lost) return Unavailable("not connected");
    ++machine_.locks;
    if (!machine_.lock.ok()) return machine_.lock;
    // Like logind: no new lock once the shutdown has begun.
    if (machine_.preparing) return FailedPrecondition("the operation is already running");
    machine_.locked = true;
    return OkStatus();
  }
  void ReleaseLock() override { machine_.locked = false; }

 private:
  Machine& machine_;
};

}  // namespace splitlet::gc
