#include "services/pleg/runtime_status.h"

#include <algorithm>
#include <array>

namespace splitlet::pleg {

bool IsReady(const cri::RuntimeReport& report) {
  return std::ranges::all_of(std::to_array({"RuntimeReady", "NetworkReady"}), [&](auto* type) {
    return std::ranges::any_of(report.conditions, [&](const auto& condition) {
      return condition.type == type && condition.status;
    });
  });
}

Duration StatusPeriod(const PlegConfig& config, bool was_ready, Duration age) {
  if (was_ready) return config.status_period;
  return age < config.first_status_time ? config.first_status_period : config.unready_status_period;
}

}  // namespace splitlet::pleg
