#pragma once

/// Keeps every event, for tests. Any thread.

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "libs/daemon/service.h"

namespace splitlet::daemon {

class FakeEventRecorder final : public EventRecorder {
 public:
  void Record(PodEvent event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  std::vector<PodEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  size_t Count(const std::string& reason) const {
    const auto all = events();
    return static_cast<size_t>(std::ranges::count(all, reason, &PodEvent::reason));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<PodEvent> events_;
};

}  // namespace splitlet::daemon
