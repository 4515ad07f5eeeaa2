#include "services/status/api/node/report_plan.h"

#include <algorithm>
#include <charconv>

#include "k8s.io/api/core/v1/node.pb.h"
#include "services/status/node/conditions.h"

namespace splitlet::status {
namespace {

constexpr Duration kFirstRegisterWait = std::chrono::milliseconds{200};
constexpr Duration kMaxRegisterWait = std::chrono::seconds{7};
constexpr Duration kKickWait = std::chrono::seconds{1};
constexpr Duration kHurriedWait = std::chrono::milliseconds{100};
constexpr Duration kVolumesWait = std::chrono::milliseconds{20};

std::optional<uint64_t> VersionOf(const kube::Node& node) {
  const auto& text = node.metadata().resource_version();
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return version;
}

}  // namespace

Duration RegisterWait(Duration before) {
  return std::clamp<Duration>(before * 2, kFirstRegisterWait, kMaxRegisterWait);
}

Duration KickWait(bool was_ready) { return was_ready ? kKickWait : kHurriedWait; }

Duration KickDelay(std::optional<Duration> since, bool was_ready) {
  return since ? std::max(Duration{0}, KickWait(was_ready) - *since) : Duration{0};
}

Duration VolumesDelay(std::optional<Duration> since) {
  return std::max(kVolumesWait, since ? kHurriedWait - *since : Duration{0});
}

bool IsReportDue(Clock::Time last, Clock::Time now, Duration period) {
  return !last || now - last >= period;
}

Duration ReportDelay(Duration period, double chance) {
  return Duration{static_cast<int64_t>(static_cast<double>(period.count()) * (chance - 0.5))};
}

bool IsOlder(const kube::Node& a, const kube::Node& b) {
  const auto version_a = VersionOf(a), version_b = VersionOf(b);
  return version_a && version_b && *version_a < *version_b;
}

bool IsNodeReady(const kube::Node& node) {
  return std::ranges::any_of(node.status().conditions(), [](const auto& condition) {
    return condition.type() == "Ready" && condition.status() == "True";
  });
}

std::vector<std::string> EventsOfNewNode(const kube::Node& node) {
  std::vector<std::string> reasons;
  for (const auto& condition : node.status().conditions()) {
    if (condition.type() == "Ready" || condition.status() == "Unknown") continue;
    v1::NodeCondition shown;
    shown.set_type(condition.type());
    shown.set_status(condition.status());
    if (std::string reason = ConditionEvent(shown); !reason.empty())
      reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace splitlet::status
