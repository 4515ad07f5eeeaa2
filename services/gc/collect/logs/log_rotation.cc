#include "services/gc/collect/logs/log_rotation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "libs/fs/path.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

/// Notices a container that writes at full speed before it fills the disk.
constexpr Duration kFirstInspection = std::chrono::seconds{1};
/// Inspections that are due within this time of each other run together.
constexpr Duration kTogether = std::chrono::milliseconds{200};

}  // namespace

LogRotation::LogRotation(Deps deps, const GcConfig& config)
    : deps_(std::move(deps)),
      period_(config.log_period),
      workers_(std::max(1, config.log_workers)),
      enabled_(config.log_max_bytes > 0),
      root_(config.pod_logs_dir),
      rotator_(std::make_shared<const LogRotator>(
          deps_.rotator,
          LogLimits{.max_bytes = static_cast<uint64_t>(std::max<int64_t>(config.log_max_bytes, 1)),
                    .max_files = static_cast<size_t>(std::max(config.log_max_files, 2)),
                    .call_limit = config.call_limit})),
      asker_(deps_.env.loop, deps_.env.strands) {}

LogRotation::~LogRotation() { deps_.env.loop.CancelTimer(timer_); }

void LogRotation::OnRuntimeChange(const std::string& key, const v1::RuntimeRecord* record) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!enabled_) return;
  Entries before;
  if (const auto known = pods_.find(key); known != pods_.end()) before = std::move(known->second);
  Entries now;
  if (record != nullptr) {
    for (const auto& container : record->pod().containers()) {
      if (container.state() != v1::ContainerRecord::RUNNING) continue;
      if (!fs::IsBelow(container.log_path(), root_)) continue;
      const auto known = before.find(container.id());
      Entry entry;
      if (known != before.end()) entry = std::move(known->second);
      if (!entry.due) entry.due = deps_.env.clock.Now() + kFirstInspection;
      entry.uid = record->pod().uid();
      entry.path = container.log_path();
      now[container.id()] = std::move(entry);
    }
  }
  if (now.empty()) {
    pods_.erase(key);
  } else {
    ArmAt(NextOf(pods_[key] = std::move(now)));
  }
}

Clock::Time LogRotation::NextOf(const Entries& entries) {
  Clock::Time next;
  for (const auto& [id, entry] : entries) {
    if (!entry.busy && (!next || entry.due < next)) next = entry.due;
  }
  return next;
}

/// A timer that was set for a removed entry fires too early and then sets the next timer.
void LogRotation::ArmAt(Clock::Time next) {
  if (!next || (timer_ != 0 && timer_at_ <= next)) return;
  deps_.env.loop.CancelTimer(timer_);
  timer_at_ = next;
  timer_ = deps_.env.loop.RunAfter(std::max(next - deps_.env.clock.Now(), Duration{0}), [this] {
    timer_ = 0;
    OnTimer();
  });
}

void LogRotation::OnTimer() {
  const Clock::Time now = deps_.env.clock.Now();
  for (auto& [key, entries] : pods_) {
    for (auto& [id, entry] : entries) {
      if (entry.busy || entry.due > now + kTogether) continue;
      if (deps_.is_ours(key)) {
        Inspect(key, id, entry);
      } else {
        entry.due = now + period_;
      }
    }
  }
  Clock::Time next;
  for (const auto& [key, entries] : pods_) {
    const Clock::Time due = NextOf(entries);
    if (due && (!next || due < next)) next = due;
  }
  ArmAt(next);
}

void LogRotation::Inspect(const std::string& key, const std::string& id, Entry& entry) {
  entry.busy = true;
  const LogToInspect log{cri::ContainerId(id), entry.path, !entry.tidied};
  const auto worker = std::hash<std::string>{}(id) % static_cast<size_t>(workers_);
  struct Inspected {
    Clock::Time at;
    StatusOr<LogState> state;
  };
  asker_.Ask(
      fmt::format("logs/{}", worker),
      [rotator = rotator_, &clock = deps_.env.clock, log] {
        const Clock::Time at = clock.Now();
        return Inspected{at, rotator->Inspect(log)};
      },
      [this, key, id](const Inspected& seen) { OnInspected(key, id, seen.state, seen.at); });
}

void LogRotation::OnInspected(const std::string& key, const std::string& id,
                              const StatusOr<LogState>& state, Clock::Time at) {
  if (state.ok() && state->rotated) deps_.metrics.log_rotations.Increment();
  const auto pod = pods_.find(key);
  if (pod == pods_.end()) return;
  const auto it = pod->second.find(id);
  if (it == pod->second.end()) return;
  Entry& entry = it->second;
  entry.busy = false;
  entry.due = deps_.env.clock.Now() + period_;
  if (state.ok()) {
    entry.tidied = true;
    const LogGrowth growth = GrowthOf(entry.growth, entry.inspected_at,
                                      {.bytes = state->bytes, .rotated = state->rotated, .at = at});
    // A log that has data at its first inspection may belong to a fast writer.
    const bool first = !entry.inspected_at && state->bytes > 0;
    entry.growth = growth;
    entry.inspected_at = at;
    const auto max_bytes = rotator_->limits().max_bytes;
    const Duration wait =
        first ? kFirstInspection : UntilNextInspection(growth, max_bytes, period_);
    entry.due = at + std::min(wait, period_);
  }
  if (!state.ok()) ReportProblem(id, entry, ToString(state.status()));
  // Only a rotation shows that an earlier problem is over.
  if (state.ok() && state->rotated) ReportProblem(id, entry, state->compression);
  ArmAt(NextOf(pod->second));
}

void LogRotation::ReportProblem(const std::string& id, Entry& entry, const std::string& problem) {
  if (!problem.empty()) deps_.metrics.errors.Add({{"kind", "log"}}).Increment();
  if (std::exchange(entry.problem, problem) == problem || problem.empty()) return;
  deps_.env.log.Warn("cannot rotate the log of a container, will try again",
                     {KV("containerID", id), KV("podUID", entry.uid), KV("err", problem)});
}

}  // namespace splitlet::gc
