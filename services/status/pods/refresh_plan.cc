#include "services/status/pods/refresh_plan.h"

#include <algorithm>

namespace splitlet::status {

SeenTable Seen(const SeenTable& before, TableState now) {
  return {.state = now, .was_complete = before.was_complete || now == TableState::kComplete};
}

bool RefreshesAll(const SeenTables& before, const SeenTables& now) {
  using enum TableState;
  const bool workers_changed = now.workers.was_complete != before.workers.was_complete ||
                               (now.workers.state == kStale) != (before.workers.state == kStale);
  const bool admissions_completed =
      now.admissions.state == kComplete && before.admissions.state != kComplete;
  const bool runtime_completed = now.runtime.was_complete && !before.runtime.was_complete;
  return workers_changed || admissions_completed || runtime_completed ||
         now.may_publish != before.may_publish;
}

bool CoversPod(const ListingInputs& listing) {
  if (!listing.complete || !listing.readable || !listing.vouched) return false;
  if (!listing.began.SameBoot(listing.now)) return false;
  if (listing.put_at && listing.began <= listing.put_at) return false;
  if (listing.worker == nullptr) return true;
  const auto& acted = listing.worker->last_action_at();
  if (acted.boot() != listing.began.boot) return true;
  return listing.began.monotonic.count() > acted.monotonic_ns();
}

uint64_t NextVersion(uint64_t before, WallTime now) {
  return std::max(before == 0 ? 0 : before + 1, static_cast<uint64_t>(ToNanos(now) / 1'000'000));
}

}  // namespace splitlet::status
