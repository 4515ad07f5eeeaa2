#pragma once

/// A CRI runtime on a unix socket, backed by FakeRuntime: RuntimeService, ImageService,
/// containerd's event service. Answers as containerd (a taken name is UNKNOWN). gRPC's threads.
/// Errors: at Start when the socket or the state file cannot be used.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/cri/fake_runtime.h"

namespace splitlet::fake_cri {

enum class EventMode { kNone, kCri, kContainerd };

class Server {
 public:
  struct Options {
    std::string socket;
    EventMode events = EventMode::kCri;
    std::function<void()>
        on_change;  // after each call that may have changed the state, before its answer
  };
  virtual ~Server() = default;
  static StatusOr<std::unique_ptr<Server>> Start(cri::FakeRuntime& runtime, Options options);
};

}  // namespace splitlet::fake_cri
