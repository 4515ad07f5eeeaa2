#pragma once

/// A CRI runtime on a unix socket, backed by FakeRuntime: RuntimeService, ImageService,
/// containerd's event service. Answers as containerd (a taken name is UNKNOWN). gRPC's threads.
/// Errors: at Start when the socket or the state file cannot be used.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/cri/fake_runtime.h"

namespace splitlet::fake_cri {

/// kCriOff: CRI's stream ends with OK when it begins, as CRI-O's without enable_pod_events.
enum class EventMode { kNone, kCri, kContainerd, kCriOff };

class Server {
 public:
  struct Options {
    std::string socket;
    EventMode events = EventMode::kCri;
    std::function<void()>
        on_change;  // after each call that may have changed the state, before its answer
    const std::atomic<bool>* checkpoints = nullptr;  // it makes them now; null: it does not
    /// Of the server that streams go to, asked for each; empty: UNIMPLEMENTED.
    std::function<std::string()> streaming_url = {};
    /// Answers UpdateRuntimeConfig, which names the range of addresses of pods; empty:
    /// UNIMPLEMENTED.
    std::function<Status(const std::string& cidr)> on_pod_cidr = {};
  };
  virtual ~Server() = default;
  static StatusOr<std::unique_ptr<Server>> Start(cri::FakeRuntime& runtime, Options options);
};

}  // namespace splitlet::fake_cri
