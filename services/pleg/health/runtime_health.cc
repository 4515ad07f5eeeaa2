#include "services/pleg/health/runtime_health.h"

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

std::vector<std::string> RuntimeHealth::Errors(Clock::Time last_listing) const {
  return ErrorsOf(deps_.config, {.now = deps_.env.clock.Now(),
                                 .answered_at = answered_at_,
                                 .last_listing = last_listing,
                                 .report = report_});
}

void RuntimeHealth::AddTo(v1::PlegHealth& health) const {
  health.set_runtime_down(IsDown(deps_.config, deps_.env.clock.Now(), answered_at_));
  health.mutable_features()->set_known(answered_at_.has_value());
  AddReport(report_, health);
  health.set_runtime_name(info_.name);
  health.set_runtime_version(info_.version);
}

}  // namespace splitlet::pleg
