#include "services/gc/protect/pressure/memory_watch.h"

#include <utility>

namespace splitlet::gc {
namespace {

constexpr Duration kPause = std::chrono::seconds{1};

}  // namespace

MemoryWatch::MemoryWatch(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      asker_(deps_.env.loop, deps_.env.strands),
      on_alarm_(asker_.Posted([this] { OnAlarm(); })) {}

StatusOr<MemoryUse> MemoryWatch::Read() const {
  if (deps_.alarm == nullptr) return MemoryUse();
  return ReadMemoryUse(deps_.files, config_);
}

Status MemoryWatch::Set(const StatusOr<MemoryUse>& use,
                        const std::vector<PressureSignal>& signals) {
  if (deps_.alarm == nullptr) return OkStatus();
  if (!use.ok()) return use.status();
  return deps_.alarm->Set(LinesOf(ThresholdsOf(config_), signals, *use), on_alarm_);
}

void MemoryWatch::OnSet(const Status& status) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!status.ok()) deps_.metrics.errors.Add({{"kind", "memory-alarm"}}).Increment();
  if (failure_.IsNews(status))
    deps_.env.log.Warn(
        "cannot set the kernel's memory notification; memory is measured every 10 s only",
        {KV("err", status)});
}

void MemoryWatch::OnAlarm() {
  CHECK(deps_.env.loop.IsCurrent());
  deps_.metrics.memory_alarms.Increment();
  if (waiting_) return;
  const Duration since = inspected_at_ ? deps_.env.clock.Now() - *inspected_at_ : kPause;
  if (since >= kPause) return Inspect();
  waiting_ = true;
  asker_.RunAfter(kPause - since, [this] {
    waiting_ = false;
    Inspect();
  });
}

void MemoryWatch::Inspect() {
  inspected_at_ = deps_.env.clock.Now();
  deps_.inspect();
}

}  // namespace splitlet::gc
