#pragma once

/// Events of a FakeRuntime without a thread; errors as in FakeRuntime::Subscribe.

#include <memory>

#include "libs/cri/event_source.h"
#include "libs/cri/fake_runtime.h"

namespace splitlet::cri {

class FakeEventSource final : public EventSource {
 public:
  struct Options {
    bool ids_only = false;       // like containerd's own stream, without pod UIDs
    bool unimplemented = false;  // like a runtime without such a stream
  };
  FakeEventSource(FakeRuntime& runtime, Options options);
  ~FakeEventSource() override;
  void Start(Callbacks callbacks, Duration open_limit) override;
  void Stop() override;
  /// Behaves like a runtime that restarts with another configuration, from the next Start.
  void SetUnimplemented(bool unimplemented) { options_.unimplemented = unimplemented; }

 private:
  FakeRuntime& runtime_;
  Options options_;
  int subscription_ = 0;
  std::shared_ptr<bool> alive_;  // token of the current stream
};

}  // namespace splitlet::cri
