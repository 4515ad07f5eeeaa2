#pragma once

/// Keeps the machine waiting for the pods when it goes down, and hears that it does.
/// In:    what the source tells, timers.
/// Owns:  the connection to the source and the lock.
/// Out:   `on_preparing`, with each connection and each change; the drop-in file of logind.
/// Killed at any line: the lock is gone with the process; the next start connects and takes it
/// anew.
/// Threads: loop thread; calls and the file on a strand of their own.
/// Errors: logged when they begin or change; a source that is not there is asked again each second.
/// Source: docs/behaviour/node-shutdown.md, "The machine".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "services/gc/protect/shutdown/shutdown_source.h"

namespace splitlet::gc {

inline constexpr const char* kLogindDropIn = "/etc/systemd/logind.conf.d/99-kubelet.conf";

class ShutdownWatch {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    ShutdownSource& source;
    const Log& log;
    std::function<void(bool preparing)> on_preparing;
  };
  /// `wanted`: how long the machine is to wait.
  ShutdownWatch(Deps deps, Duration wanted);

  void Start() { Connect(); }
  /// The machine need not wait any more.
  void Release();
  /// The machine does not go down after all: the next time it has to wait again.
  void TakeAgain();

 private:
  void Connect();
  void OnConnected(const StatusOr<ShutdownSource::State>& state);
  void OnLost(uint64_t connection, const Status& why);
  void ConnectLater(const Status& why);
  void RaiseDelay();
  /// The machine reads its settings in its own time.
  void ReadDelay(int tries);
  void OnDelay(int tries, const StatusOr<Duration>& delay);
  void TakeLock();
  void OnLock(const Status& taken);

  Deps deps_;
  const Duration wanted_;
  uint64_t connection_ = 0;  // the present one; what an earlier one tells is old
  bool connected_ = false;
  bool preparing_ = false;
  bool wants_lock_ = true;
  bool raised_ = false;  // tried, once in a start
  std::string trouble_;  // as last logged
};

}  // namespace splitlet::gc
