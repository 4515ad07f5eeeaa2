#pragma once

/// A CRI runtime on a unix socket, backed by FakeRuntime: RuntimeService, ImageService,
/// containerd's event service. Answers like containerd (a taken name is UNKNOWN). gRPC's threads.
/// Errors: of Start: the socket or the state file cannot be used.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/cri/fake_runtime.h"

namespace splitlet::fake_cri {

/// kCriOff: CRI's stream ends with OK immediately, like that of CRI-O without enable_pod_events.
enum class EventMode { kNone, kCri, kContainerd, kCriOff };

class Server {
 public:
  struct Options {
    std::string socket;
    EventMode events = EventMode::kCri;
    std::function<void()>
        on_change;  // called after each call that may have changed the state, before its answer
    const std::atomic<bool>* checkpoints = nullptr;  // true: makes checkpoints; null: never
    /// URL of the streaming server, read for each stream; empty: UNIMPLEMENTED.
    std::function<std::string()> streaming_url = {};
    /// Answers UpdateRuntimeConfig, which contains the pods' address range; empty: UNIMPLEMENTED.
    std::function<Status(const std::string& cidr)> on_pod_cidr = {};
  };
  virtual ~Server() = default;
  static StatusOr<std::unique_ptr<Server>> Start(cri::FakeRuntime& runtime, Options options);
};

}  // namespace splitlet::fake_cri
