#include "services/gc/protect/pressure/pressure_monitor.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "services/gc/measure/full_disk.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

constexpr const char* kPressureStrand = "pressure";
constexpr std::string_view kThresholdsRecord = "thresholds";  // by condition: when last met
constexpr std::string_view kMetRecord = "met";                // by threshold: since when
constexpr const char* kContainerFsSignal = "containerfs.available";
constexpr Duration kRecordsRetry = std::chrono::seconds{1};
constexpr const char* kConditions[] = {"MemoryPressure", "DiskPressure", "PIDPressure"};

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

Status SavePressure(const fs::RecordStore& records, const PressureMemory& memory) {
  FAIL_POINT("gc.save-pressure.before");
  RETURN_IF_ERROR(
      records.Save(std::string(kThresholdsRecord), EncodeLastMet(memory.last_met), false),
      "conditions");
  RETURN_IF_ERROR(records.Save(std::string(kMetRecord), EncodeMetStates(memory.met), false),
                  "thresholds");
  FAIL_POINT("gc.save-pressure.after");
  return OkStatus();
}

}  // namespace

PressureMonitor::PressureMonitor(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      records_(std::make_shared<const fs::RecordStore>(
          deps_.files, deps_.env.clock,
          fs::RecordStore::Options{.directory = config.records_dir, .this_boot_only = true})),
      memory_watch_({.env = deps_.env,
                     .files = deps_.files,
                     .alarm = std::move(deps_.memory_alarm),
                     .metrics = deps_.metrics,
                     .inspect = [this] { InspectAgain(); }},
                    config_),
      timer_(deps_.env.loop, kPressurePeriod, [this] { OnTimer(); }),
      asker_(deps_.env.loop, deps_.env.strands) {}

PressureMonitor::~PressureMonitor() = default;

void PressureMonitor::Start() {
  LogIgnoredThresholds();
  ReadRecords();
}

void PressureMonitor::InspectAgain() {
  using enum Inspection;
  if (inspection_ == kRuns || inspection_ == kRunsOnceMore) {
    inspection_ = kRunsOnceMore;
  } else {
    timer_.Kick();
  }
}

void PressureMonitor::SetShuttingDown(bool shutting_down) {
  if (std::exchange(shutting_down_, shutting_down) == shutting_down || record_ == nullptr) return;
  Put();
}

std::string PressureMonitor::problem() const {
  return records_problem_.empty() ? "" : "read saved pressure: " + records_problem_;
}

void PressureMonitor::ReadRecords() {
  asker_.Ask(
      kPressureStrand, [records = records_] { return records->ReadAll(); },
      [this](const StatusOr<fs::RecordStore::All>& records) { OnRecordsRead(records); });
}

void PressureMonitor::OnRecordsRead(const StatusOr<fs::RecordStore::All>& records) {
  if (!records.ok()) {
    const std::string before = std::exchange(records_problem_, Message(records.status()));
    if (before != records_problem_)
      deps_.env.log.Error(
          "cannot read the saved pressure of this boot, will read again: pressure is not published "
          "until then",
          {KV("err", records.status())});
    asker_.RunAfter(kRecordsRetry, [this] { ReadRecords(); });
    return;
  }
  records_problem_.clear();
  inspection_ = Inspection::kNone;
  for (const auto& bad : records->unreadable)
    deps_.env.log.Error("ignoring a saved pressure file that cannot be read; its times start again",
                        {KV("file", bad.key), KV("err", bad.reason)});
  const Clock::Time now = deps_.env.clock.Now();
  for (const auto& record : records->records) {
    if (record.key == kThresholdsRecord) memory_.last_met = DecodeLastMet(record.bytes, now.boot);
    if (record.key == kMetRecord) memory_.met = DecodeMetStates(record.bytes, now.boot);
  }
  logged_conditions_ = Conditions(memory_.last_met, now, config_.pressure_transition);
  timer_.Kick();
}

void PressureMonitor::OnTimer() {
  // A runtime that does not answer blocks the strand; one inspection at a time is enough.
  if (inspection_ != Inspection::kNone) return;
  inspection_ = Inspection::kRuns;
  asker_.Ask(
      kPressureStrand,
      [sources = SignalSources{.files = deps_.files,
                               .images = deps_.images,
                               .meter = deps_.meter,
                               .clock = deps_.env.clock,
                               .split = split_},
       &watch = memory_watch_, &config = config_] {
        Inspected inspected{.began = sources.clock.Now(), .signals = {}, .watched = {}};
        const auto memory = watch.Read();
        inspected.signals = ReadSignals(sources, config);
        inspected.full = DiskIsFull(sources.files, config.pod_logs_dir);
        inspected.watched = watch.Set(memory, inspected.signals.read);
        return inspected;
      },
      [this](const Inspected& inspected) { OnInspected(inspected); });
}

void PressureMonitor::OnInspected(const Inspected& inspected) {
  CHECK(deps_.env.loop.IsCurrent());
  memory_watch_.OnSet(inspected.watched);
  const Signals& signals = inspected.signals;
  LogUnread(signals);
  split_ = FindSignal(signals.read, kContainerFsSignal) != nullptr ||
           signals.unread.contains(kContainerFsSignal);
  const PressureDecision decision =
      ComputePressure(memory_, signals, config_, deps_.env.clock.Now());
  LogConditions(decision.conditions);
  if (inspected.full) deps_.on_full_disk();
  const Pass pass{.began = inspected.began, .signals = signals.read, .judged = decision.judged};
  if (decision.next == memory_) return Publish(pass, decision.conditions);
  asker_.Ask(
      kPressureStrand,
      [records = records_, next = decision.next] { return SavePressure(*records, next); },
      [this, pass, conditions = decision.conditions, next = decision.next](const Status& saved) {
        OnSaved(saved, next);
        Publish(pass, conditions);
      });
}

/// A failed save must not keep the node from showing that it runs out of something.
void PressureMonitor::OnSaved(const Status& saved, const PressureMemory& memory) {
  if (saved.ok()) memory_ = memory;
  if (!saved.ok()) deps_.metrics.errors.Add({{"kind", "save-pressure"}}).Increment();
  if (save_failure_.IsNews(saved))
    deps_.env.log.Warn(
        "cannot save when the thresholds were met, will save again: conditions end with their "
        "thresholds until then",
        {KV("err", saved)});
}

void PressureMonitor::Publish(const Pass& pass, const std::vector<std::string>& conditions) {
  const Inspection ended = std::exchange(inspection_, Inspection::kNone);
  PutPressure(pass.signals, conditions);
  deps_.on_pass(pass);
  if (ended == Inspection::kRunsOnceMore) timer_.Kick();
}

void PressureMonitor::PutPressure(const std::vector<PressureSignal>& signals,
                                  const std::vector<std::string>& conditions) {
  const Clock::Time now = deps_.env.clock.Now();
  record_ = std::make_unique<v1::PressureRecord>();
  for (const auto& signal : signals) {
    auto& out = *record_->add_signals();
    out.set_name(signal.name);
    out.set_value(signal.available);
    out.set_capacity(signal.capacity);
    deps_.metrics.signal.Add({{"signal", signal.name}}).Set(static_cast<double>(signal.available));
  }
  for (const auto& condition : conditions) record_->add_conditions(condition);
  for (const char* const condition : kConditions)
    deps_.metrics.condition.Add({{"condition", condition}})
        .Set(Contains(conditions, condition) ? 1 : 0);
  record_->mutable_observed_at()->set_boot(now.boot);
  record_->mutable_observed_at()->set_monotonic_ns(now.monotonic.count());
  Put();
  bus::Completeness complete;
  complete.scopes.insert(std::string(bus::kAll));
  FAIL_POINT_VOID("gc.complete.before");
  deps_.table.SetComplete(complete);
  FAIL_POINT_VOID("gc.complete.after");
}

void PressureMonitor::Put() {
  record_->set_shutting_down(shutting_down_);
  FAIL_POINT_VOID("gc.put-pressure.before");
  deps_.env.log.LogIfError(deps_.table.Put(bus::kNodeKey, *record_), "put pressure");
  FAIL_POINT_VOID("gc.put-pressure.after");
}

void PressureMonitor::LogIgnoredThresholds() {
  for (const auto* thresholds : {&config_.eviction_hard, &config_.eviction_soft})
    for (const auto& [name, value] : *thresholds)
      if (IsContainerFs(name))
        deps_.env.log.Warn(
            "ignoring a containerfs threshold: the nodefs thresholds count for containerfs",
            {KV("signal", name)});
}

/// Logs each signal once, when it becomes unreadable.
void PressureMonitor::LogUnread(const Signals& signals) {
  std::set<std::string> unread;
  for (const auto& [name, why] : signals.unread) {
    deps_.metrics.errors.Add({{"kind", "signal"}}).Increment();
    if (!logged_unread_.contains(name))
      deps_.env.log.Warn("cannot read an eviction signal; its condition stays as it is",
                         {KV("signal", name), KV("err", why)});
    unread.insert(name);
  }
  logged_unread_ = std::move(unread);
}

void PressureMonitor::LogConditions(const std::vector<std::string>& conditions) {
  for (const char* const condition : kConditions) {
    const bool now = Contains(conditions, condition);
    if (now != Contains(logged_conditions_, condition))
      deps_.env.log.Info("node condition changed", {KV("condition", condition), KV("status", now)});
  }
  logged_conditions_ = conditions;
}

}  // namespace splitlet::gc
