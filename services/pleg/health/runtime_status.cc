#include "services/pleg/health/runtime_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "splitlet/v1/services.pb.h"

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

bool IsDown(const PlegConfig& config, Clock::Time now, std::optional<Clock::Time> answered_at) {
  return answered_at && now - *answered_at > config.status_threshold;
}

std::vector<std::string> ErrorsOf(const PlegConfig& config, const RuntimeSeen& seen) {
  std::vector<std::string> errors;
  if (!seen.answered_at) {
    errors.emplace_back("container runtime status check may not have completed yet");
  } else if (IsDown(config, seen.now, seen.answered_at)) {
    errors.emplace_back("container runtime is down");
  }
  const Duration threshold = config.relist_threshold;
  if (!seen.last_listing) {
    errors.emplace_back("PLEG is not healthy: pleg has yet to be successful");
  } else if (const Duration age = seen.now - seen.last_listing; age > threshold) {
    errors.push_back(
        fmt::format("PLEG is not healthy: pleg was last seen active {} ago; threshold is {}",
                    FormatGoDuration(age), FormatGoDuration(threshold)));
  }
  for (const auto& condition : seen.report.conditions) {
    if (condition.type != "RuntimeReady" || condition.status) continue;
    errors.push_back(
        fmt::format("container runtime not ready: RuntimeReady=false reason:{} message:{}",
                    condition.reason, condition.message));
  }
  return errors;
}

void AddReport(const cri::RuntimeReport& report, v1::PlegHealth& health) {
  for (const auto& condition : report.conditions) {
    auto& made = *health.add_conditions();
    made.set_type(condition.type);
    made.set_status(condition.status);
    made.set_reason(condition.reason);
    made.set_message(condition.message);
  }
  auto& features = *health.mutable_features();
  features.set_supplemental_groups_policy(report.supplemental_groups_policy);
  features.set_user_namespaces_host_network(report.user_namespaces_host_network);
  for (const auto& handler : report.handlers) {
    auto& made = *features.add_handlers();
    made.set_name(handler.name);
    made.set_recursive_read_only_mounts(handler.recursive_read_only_mounts);
    made.set_user_namespaces(handler.user_namespaces);
  }
}

}  // namespace splitlet::pleg
