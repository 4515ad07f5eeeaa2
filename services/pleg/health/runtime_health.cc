#include "services/pleg/health/runtime_health.h"

#include <fmt/format.h>

#include <utility>

#include "services/pleg/health/runtime_status.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pleg {

RuntimeHealth::~RuntimeHealth() { deps_.env.loop.CancelTimer(timer_); }

void RuntimeHealth::Start() {
  started_ = deps_.env.clock.Now();
  Ask();
}

void RuntimeHealth::Ask() {
  asker_.Ask(
      "status",
      [reader = &deps_.reader,
       deadline = After(deps_.env.clock, deps_.config.status_threshold)]() -> Answer {
        auto info = reader->Version(deadline);
        if (!info.ok()) return {info.status(), info.status()};
        return {std::move(info), reader->RuntimeStatus(deadline)};
      },
      [this](const Answer& answer) { OnAnswer(answer); });
}

void RuntimeHealth::OnAnswer(const Answer& answer) {
  const auto& [info, report] = answer;
  if (info.ok()) info_ = *info;
  if (report.ok()) {
    report_ = *report;
    was_ready_ = was_ready_ || IsReady(report_);
    answered_at_ = deps_.env.clock.Now();
  } else if (error_.code() != report.status().code()) {
    deps_.env.log.Warn("cannot get the runtime's status, will ask again",
                       {KV("err", report.status())});
  }
  error_ = report.status();
  const Duration period = StatusPeriod(deps_.config, was_ready_, deps_.env.clock.Now() - started_);
  timer_ = deps_.env.loop.RunAfter(period, [this] { Ask(); });
}

bool RuntimeHealth::IsDown() const {
  return answered_at_ && deps_.env.clock.Now() - *answered_at_ > deps_.config.status_threshold;
}

std::vector<std::string> RuntimeHealth::Errors(Clock::Time last_listing) const {
  std::vector<std::string> errors;
  const Clock::Time now = deps_.env.clock.Now();
  if (!answered_at_) {
    errors.emplace_back("container runtime status check may not have completed yet");
  } else if (IsDown()) {
    errors.emplace_back("container runtime is down");
  }
  const Duration threshold = deps_.config.relist_threshold;
  if (!last_listing) {
    errors.emplace_back("PLEG is not healthy: pleg has yet to be successful");
  } else if (now - last_listing > threshold) {
    errors.push_back(
        fmt::format("PLEG is not healthy: pleg was last seen active {} ago; threshold is {}",
                    FormatGoDuration(now - last_listing), FormatGoDuration(threshold)));
  }
  for (const auto& condition : report_.conditions) {
    if (condition.type != "RuntimeReady" || condition.status) continue;
    errors.push_back(
        fmt::format("container runtime not ready: RuntimeReady=false reason:{} message:{}",
                    condition.reason, condition.message));
  }
  return errors;
}

void RuntimeHealth::AddTo(v1::PlegHealth& health) const {
  health.set_runtime_down(IsDown());
  health.mutable_features()->set_known(answered_at_.has_value());
  AddReport(report_, health);
  health.set_runtime_name(info_.name);
  health.set_runtime_version(info_.version);
}

}  // namespace splitlet::pleg
