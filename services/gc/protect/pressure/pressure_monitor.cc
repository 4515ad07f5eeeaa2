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

}  // namespace

PressureMonitor::PressureMonitor(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      records_(deps_.files, deps_.env.clock,
               {.directory = config.records_dir, .this_boot_only = true}),
      memory_watch_({.env = deps_.env,
                     .files = deps_.files,
                     .alarm = std::move(deps_.memory_alarm),
                     .metrics = deps_.metrics,
                     .inspect = [this] { InspectAgain(); }},
                    config_),
      timer_(deps_.env.loop, kPressurePeriod, [this] { OnTimer(); }) {}

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
  deps_.env.strands.Run(kPressureStrand, [this] {
    auto records = records_.ReadAll();
    deps_.env.loop.Post([this, records = std::move(records)] { OnRecordsRead(records); });
  });
}

void PressureMonitor::OnRecordsRead(const StatusOr<fs::RecordStore::All>& records) {
  if (!records.ok()) {
    const std::string before = std::exchange(records_problem_, Message(records.status()));
    if (before != records_problem_)
      deps_.env.log.Error(
          "cannot read the saved pressure of this boot, will read again: pressure is not published "
          "until then",
          {KV("err", records.status())});
    deps_.env.loop.RunAfter(kRecordsRetry, [this] { ReadRecords(); });
    return;
  }
  records_problem_.clear();
  inspection_ = Inspection::kNone;
  for (const auto& bad : records->unreadable)
    deps_.env.log.Error("ignoring a saved pressure file that cannot be read; its times start again",
                        {KV("file", bad.key), KV("err", bad.reason)});
  for (const auto& record : records->records) {
    if (record.key == kThresholdsRecord)
      last_met_ = DecodeLastMet(record.bytes, deps_.env.clock.Now().boot);
    if (record.key == kMetRecord) met_ = DecodeMetStates(record.bytes, deps_.env.clock.Now().boot);
  }
  logged_conditions_ = Conditions(last_met_, deps_.env.clock.Now(), config_.pressure_transition);
  timer_.Kick();
}

void PressureMonitor::OnTimer() {
  // A runtime that does not answer blocks the strand; one inspection at a time is enough.
  if (inspection_ != Inspection::kNone) return;
  inspection_ = Inspection::kRuns;
  deps_.env.strands.Run(kPressureStrand, [this, split = split_] {
    const Clock::Time began = deps_.env.clock.Now();
    const auto memory = memory_watch_.Read();
    auto signals = ReadSignals({.files = deps_.files,
                                .images = deps_.images,
                                .meter = deps_.meter,
                                .clock = deps_.env.clock,
                                .split = split},
                               config_);
    const bool full = DiskIsFull(deps_.files, config_.pod_logs_dir);
    const Status watched = memory_watch_.Set(memory, signals.read);
    deps_.env.loop.Post([this, began, full, watched, signals = std::move(signals)] {
      memory_watch_.OnSet(watched);
      OnSignals(began, signals);
      if (full) deps_.on_full_disk();
    });
  });
}

void PressureMonitor::OnSignals(Clock::Time began, const Signals& signals) {
  CHECK(deps_.env.loop.IsCurrent());
  const Clock::Time now = deps_.env.clock.Now();
  const LastMet before = last_met_;
  const MetStates met_before = met_;
  LogUnread(signals);
  split_ = FindSignal(signals.read, kContainerFsSignal) != nullptr ||
           signals.unread.contains(kContainerFsSignal);
  KeepStanding(last_met_, UnreadThresholds(signals, config_), now);
  Pass pass{.began = began, .signals = signals.read, .judged = {}};
  pass.judged = Judge(ThresholdsOf(config_), signals.read, met_, now);
  Remember(last_met_, pass.judged.met, now, config_.pressure_transition);
  const auto conditions = Conditions(last_met_, now, config_.pressure_transition);
  LogConditions(conditions);
  if (before == last_met_ && met_before == met_) return Publish(pass, conditions);
  deps_.env.strands.Run(
      kPressureStrand, [this, pass = std::move(pass), conditions,
                        last_met = EncodeLastMet(last_met_), met = EncodeMetStates(met_)] {
        Status saved = records_.Save(std::string(kThresholdsRecord), last_met, false);
        if (saved.ok()) saved = records_.Save(std::string(kMetRecord), met, false);
        deps_.env.loop.Post([this, pass, conditions, saved] {
          deps_.env.log.LogIfError(saved, "save thresholds");
          Publish(pass, conditions);
        });
      });
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
