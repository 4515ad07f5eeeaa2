#pragma once

/// A kernel log that a test writes.
/// Threads: those of the test.
/// Errors: those that the test sets.

#include <utility>

#include "services/gc/protect/oom/kernel_log.h"

namespace splitlet::gc {

class FakeKernelLog final : public KernelLog {
 public:
  struct State {
    Status status;
    std::vector<std::string> records;  // not read yet
  };
  explicit FakeKernelLog(State& state) : state_(state) {}
  StatusOr<std::vector<std::string>> ReadNew() override {
    if (!state_.status.ok()) return state_.status;
    return std::exchange(state_.records, {});
  }

 private:
  State& state_;
};

}  // namespace splitlet::gc
