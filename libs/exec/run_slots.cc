#include "libs/exec/run_slots.h"

#include <utility>

namespace splitlet::exec {

bool RunSlots::Enter(bool slow, Start start) {
  if (closed_) return true;
  Lane& lane = slow ? slow_ : fast_;
  if (lane.waiting.size() >= limits_.waiting) return false;
  lane.waiting.push_back(std::move(start));
  StartNext();
  return true;
}

void RunSlots::Leave(bool slow) {
  --(slow ? slow_ : fast_).running;
  StartNext();
}

void RunSlots::StartNext() {
  const auto next = [this]() -> Lane* {
    if (fast_.running + slow_.running >= limits_.at_once) return nullptr;
    if (!fast_.waiting.empty()) return &fast_;
    const bool room = slow_.running < limits_.at_once / 2;
    return room && !slow_.waiting.empty() ? &slow_ : nullptr;
  };
  while (Lane* lane = next()) {
    const Start start = std::move(lane->waiting.front());
    lane->waiting.pop_front();
    ++lane->running;
    start();
  }
}

void RunSlots::Close() {
  closed_ = true;
  fast_.waiting.clear();
  slow_.waiting.clear();
}

}  // namespace splitlet::exec
