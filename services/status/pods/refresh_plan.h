#pragma once

/// Which pods are computed again when the tables change, and what a listing of the runtime shows of
/// a pod. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "First status after a start"; docs/safety.md, rules 20 to 22.

#include "libs/base/clock.h"
#include "services/status/pods/first_status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// The tables that the status of each pod depends on, as of the last change of a view.
struct SeenTables {
  SeenTable workers, admissions, runtime;
  bool may_publish = false;
};
/// `now` replaces the state that was seen before.
SeenTable Seen(const SeenTable& before, TableState now);

/// All pods are computed again: `workers` became complete, stale or live, `admission` became
/// complete, or the first status may be put now.
bool RefreshesAll(const SeenTables& before, const SeenTables& now);

struct ListingInputs {
  bool complete = false;  // the table `runtime` is live and complete
  bool vouched = true;    // the listing vouches for the pod
  bool readable = true;   // false: a record that cannot be decoded, which is not an absence
  Clock::Time began;      // of the listing
  Clock::Time now;
  Clock::Time put_at;                        // our last put of the pod; no time: none
  const v1::WorkerRecord* worker = nullptr;  // null: none
};
/// The listing vouches for the pod, and began after our last put and the worker's last action.
bool CoversPod(const ListingInputs& listing);

/// The version of a record: milliseconds of the wall clock, so that versions are higher after a
/// restart too. `before`: of the last record; 0: none.
uint64_t NextVersion(uint64_t before, WallTime now);

}  // namespace splitlet::status
