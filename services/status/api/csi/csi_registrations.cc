#include "services/status/api/csi/csi_registrations.h"

#include <algorithm>
#include <utility>

#include "libs/base/text.h"
#include "libs/bus/typed.h"

namespace splitlet::status {
namespace {

/// An answer that names the request as wrong or forbidden may come from a webhook or from rights
/// that are being set up, so a kubelet's number of attempts is made.
constexpr int kMaxRefusals = 4;

bool IsSameDriver(const v1::CsiDriver& a, const v1::CsiDriver& b) {
  return bus::SerializeSorted(a) == bus::SerializeSorted(b);
}

bool IsServersRefusal(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ||
         status.code() == StatusCode::kPermissionDenied;
}

}  // namespace

CsiRegistrations::Pending CsiRegistrations::PendingAfter(const Entry& entry,
                                                         const v1::CsiDriver& now) {
  const bool is_written =
      entry.pending != Pending::kAll && entry.outcome && entry.outcome->error().empty();
  if (!is_written) return Pending::kAll;
  v1::CsiDriver with_old_limit = now;
  with_old_limit.set_max_volumes(entry.outcome->driver().max_volumes());
  return IsSameDriver(with_old_limit, entry.outcome->driver()) ? Pending::kLimit : Pending::kAll;
}

void CsiRegistrations::OnReported(Clock::Time worker_start, const v1::WorkerNode& worker) {
  std::map<std::string, const v1::CsiDriver*> reported;
  for (const auto& driver : worker.csi_drivers()) reported[driver.name()] = &driver;
  const bool is_same_start = worker_start == worker_start_;
  worker_start_ = worker_start;
  std::erase_if(entries_, [&](const auto& entry) {
    if (reported.contains(entry.first)) return false;
    (is_same_start ? leaving_ : missing_).insert(entry.first);
    return true;
  });
  for (const auto& [name, driver] : reported) {
    missing_.erase(name);
    Entry& entry = entries_[name];
    if (IsSameDriver(entry.driver, *driver)) continue;
    entry.pending = PendingAfter(entry, *driver);
    entry.driver = *driver;
    entry.refusals = 0;
    leaving_.erase(name);
  }
  if (worker.csi_drivers_known()) leaving_.merge(std::exchange(missing_, {}));
}

void CsiRegistrations::OnNewObjects() {
  for (auto& [name, entry] : entries_)
    if (!leaving_.contains(name)) entry.pending = Pending::kAll;
}

bool CsiRegistrations::OnWritten(const CsiWritten& written) {
  const auto found = entries_.find(written.driver.name());
  if (found == entries_.end() || !IsSameDriver(found->second.driver, written.driver)) return false;
  Entry& entry = found->second;
  if (!written.status.ok() && !written.refused) {
    entry.refusals = IsServersRefusal(written.status) ? entry.refusals + 1 : 0;
    if (entry.refusals < kMaxRefusals) return false;
  }
  entry.pending = Pending::kNothing;
  entry.outcome.emplace();
  *entry.outcome->mutable_driver() = written.driver;
  if (written.status.ok()) return false;
  entry.outcome->set_error(ToText(Message(written.status)));
  leaving_.insert(found->first);  // as a kubelet takes back a registration that failed
  return true;
}

void CsiRegistrations::OnRemoved(const std::string& driver, const Status& status) {
  if (status.ok()) leaving_.erase(driver);
}

CsiSteps CsiRegistrations::Steps() const {
  CsiSteps steps;
  for (const auto& [name, entry] : entries_)
    if (entry.pending != Pending::kNothing)
      steps.writes.push_back({entry.driver, entry.pending == Pending::kLimit});
  steps.removals.assign(leaving_.begin(), leaving_.end());
  return steps;
}

void CsiRegistrations::AddOutcomes(v1::NodeRecord& node) const {
  for (const auto& [name, entry] : entries_)
    if (entry.outcome) *node.add_csi_drivers() = *entry.outcome;
}

size_t CsiRegistrations::Count(State state) const {
  return static_cast<size_t>(std::ranges::count_if(entries_, [&](const auto& named) {
    const Entry& entry = named.second;
    if (entry.pending != Pending::kNothing) return state == State::kWaiting;
    return state == (entry.outcome->error().empty() ? State::kWritten : State::kRefused);
  }));
}

}  // namespace splitlet::status
