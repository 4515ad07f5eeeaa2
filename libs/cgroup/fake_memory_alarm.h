#pragma once

/// An alarm that a test rings.
/// Threads: the test's.
/// Errors:  the injected ones.

#include <functional>
#include <utility>
#include <vector>

#include "libs/cgroup/memory_alarm.h"

namespace splitlet::cgroup {

class FakeMemoryAlarm final : public MemoryAlarm {
 public:
  struct State {
    Status status;
    std::vector<MemoryLine> lines;  // last set
    int set = 0;                    // number of calls to Set
    std::function<void()> ring;
    /// Rings once for the lines set, as the kernel does.
    void Ring() {
      if (const auto now = std::exchange(ring, nullptr)) now();
    }
  };
  explicit FakeMemoryAlarm(State& state) : state_(state) {}
  ~FakeMemoryAlarm() override { state_.ring = nullptr; }
  Status Set(const std::vector<MemoryLine>& lines, std::function<void()> ring) override {
    ++state_.set;
    state_.lines.clear();
    state_.ring = nullptr;
    if (!state_.status.ok()) return state_.status;
    state_.lines = lines;
    if (!lines.empty()) state_.ring = std::move(ring);
    return OkStatus();
  }

 private:
  State& state_;
};

}  // namespace splitlet::cgroup
