#include "services/status/api/lease/lease_plan.h"

#include <algorithm>

namespace splitlet::status {
namespace {

constexpr int kRenewalsOfALease = 4;  // in its duration
constexpr Duration kFirstEnsureWait = std::chrono::milliseconds{200};
constexpr Duration kMaxEnsureWait = std::chrono::seconds{7};

}  // namespace

AfterUpdate AfterFailedUpdate(const Status& status) {
  if (status.code() == StatusCode::kNotFound) return AfterUpdate::kReadOrCreate;
  return status.code() == StatusCode::kAborted ? AfterUpdate::kReadNewer : AfterUpdate::kRepeat;
}

bool KeepsLease(const Status& status) { return status.code() == StatusCode::kResourceExhausted; }

Duration WaitWithoutLease(Duration before) {
  return std::clamp<Duration>(before * 2, kFirstEnsureWait, kMaxEnsureWait);
}

Duration RenewalPeriod(int32_t lease_duration_seconds) {
  return Duration{std::chrono::seconds{lease_duration_seconds}} / kRenewalsOfALease;
}

}  // namespace splitlet::status
