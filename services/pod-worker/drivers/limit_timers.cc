#include "services/pod-worker/drivers/limit_timers.h"

#include <algorithm>

namespace splitlet::pod_worker {

void LimitTimers::Update(const std::set<std::string>& drivers) {
  std::map<std::string, std::chrono::seconds> wanted;
  for (const auto& driver : drivers)
    if (const Period period = deps_.period(driver)) wanted[driver] = std::max(*period, kShortest);
  std::erase_if(timers_, [&](const auto& entry) {
    const auto it = wanted.find(entry.first);
    if (it != wanted.end() && it->second == entry.second.period) return false;
    deps_.env.loop.CancelTimer(entry.second.id);
    return true;
  });
  for (const auto& [driver, period] : wanted)
    if (timers_.try_emplace(driver, Timer{.period = period}).second) Arm(driver);
}

void LimitTimers::Arm(const std::string& driver) {
  Timer& timer = timers_.at(driver);
  timer.id = asker_.RunAfter(timer.period, [this, driver] {
    Arm(driver);
    deps_.on_due(driver);
  });
}

}  // namespace splitlet::pod_worker
