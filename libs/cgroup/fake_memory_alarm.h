#pragma once

/// An alarm that a test rings.
/// Threads: as the test's.
/// Errors:  those that a test says.

#include <functional>
#include <utility>
#include <vector>

#include "libs/cgroup/memory_alarm.h"

namespace splitlet::cgroup {

class FakeMemoryAlarm final : public MemoryAlarm {
 public:
  struct State {
    Status status;
    std::vector<MemoryLine> lines;  // as last set
    int set = 0;                    // how often
    std::function<void()> ring;
    /// As the kernel does it: once for what is set.
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
