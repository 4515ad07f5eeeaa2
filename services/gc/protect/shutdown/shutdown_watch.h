#pragma once

/// Watches for a shutdown of the machine, and delays the shutdown until the pods have ended.
/// In:    events of the source, timers.
/// Owns:  the connection to the source and the inhibitor lock.
/// Out:   `on_preparing` after each connection and each change; the drop-in file of logind.
/// Killed at any line: the lock ends with the process; the next start takes it again.
/// Threads: loop thread; calls and the file on a strand of their own.
/// Errors: logged once for each code, and counted; a lost connection is tried again every second.
/// Source: docs/behaviour/node-shutdown.md, "The machine".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "services/gc/metrics.h"
#include "services/gc/protect/repeated_failure.h"
#include "services/gc/protect/shutdown/shutdown_source.h"

namespace splitlet::gc {

inline constexpr const char* kLogindDropIn = "/etc/systemd/logind.conf.d/99-kubelet.conf";

class ShutdownWatch {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    ShutdownSource& source;
    GcMetrics& metrics;
    std::function<void(bool preparing)> on_preparing;
  };
  /// `wanted`: how long the machine must delay a shutdown.
  ShutdownWatch(Deps deps, Duration wanted);

  void Start() { Connect(); }
  /// Releases the lock: the machine may shut down.
  void Release();
  /// Takes the lock again after a cancelled shutdown.
  void TakeAgain();

 private:
  /// As the source has reported it.
  enum class Machine {
    kUnknown,  // not connected
    kRuns,
    kPreparing,  // for a shutdown
  };
  void Connect();
  void OnConnected(const StatusOr<ShutdownSource::State>& state);
  void OnPreparing(uint64_t connection, bool preparing);
  void OnLost(uint64_t connection, const Status& why);
  void ConnectLater(const Status& why);
  void RaiseDelay();
  /// logind reads its settings some time after the reload, so the delay is read several times.
  void ReadDelay(int tries);
  void OnDelay(int tries, const StatusOr<Duration>& delay);
  void TakeLock();
  void OnLock(const Status& taken);

  Deps deps_;
  const Duration wanted_;
  uint64_t connection_ = 0;  // number of the connection; events of an earlier one are ignored
  Machine machine_ = Machine::kUnknown;
  bool wants_lock_ = true;
  bool raised_ = false;      // tried once in a start
  RepeatedFailure failure_;  // to connect
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
