#pragma once

/// Which pods the table `runtime` vouches for: pods whose record is at least as new as the last
/// listing. A record that is older, or whose inspection failed, is not vouched for.
/// In:    the results of listings and inspections.
/// Owns:  the pods that are not vouched for, the pods that a listing waits for, the callers that
/// wait for those.
/// Out:   the completeness of `runtime`: when the last listing began, and the pods not vouched for.
/// Killed at any line: nothing is lost; the table is complete again after the first listing.
/// Threads: loop thread only.
/// Errors: none.
/// Source: docs/design.md, "Runtime events without waiting"; docs/safety.md, rules 7 and 21.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "services/pleg/metrics.h"

namespace splitlet::v1 {
class RuntimeRecord;
}

namespace splitlet::pleg {

/// The promise that the completeness of the table may make.
enum class Promise {
  kNone,   // there was no listing, or the first one waits for inspections
  kFirst,  // each pod without a record gets one before: readers rely on an absence
  kNewer,  // of a table that is complete already
};
/// `listed`: when the last listing began; no time: there was none. `awaited`: an inspection is.
Promise NextPromise(bool complete, Clock::Time listed, bool awaited);

class Vouching {
 public:
  using Done = std::function<void(StatusOr<Clock::Time>)>;
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    bus::Table<v1::RuntimeRecord>& table;
    PlegMetrics& metrics;
    std::function<Clock::Time()> last_listing;  // when it began; no time: there was none
    std::function<Clock::Time(const std::string& uid)> inspecting_since;
    /// Before the table is complete for the first time: puts a record for each pod without one.
    std::function<void()> put_missing;
  };
  explicit Vouching(Deps deps) : deps_(std::move(deps)) {}
  ~Vouching();
  Vouching(const Vouching&) = delete;
  Vouching& operator=(const Vouching&) = delete;

  void Vouch(const std::string& uid);
  /// The last listing showed something else, or the last inspection failed.
  void Withdraw(const std::string& uid);
  bool IsVouched(const std::string& uid) const;

  /// A listing waits for the pod's inspection.
  void Await(const std::string& uid) { awaited_.insert(uid); }
  void Release(const std::string& uid) { awaited_.erase(uid); }
  bool IsAwaited(const std::string& uid) const { return awaited_.contains(uid); }
  bool AnyAwaited() const { return !awaited_.empty(); }
  /// Calls `askers` when no inspection is awaited.
  void AnswerWhenInspected(std::vector<Done> askers);

  void Put();
  /// In a burst the completeness is put with the last pod and every 100 ms, not with each pod.
  void PutSoon();
  bool complete() const { return complete_; }

 private:
  void GiveUpSlowOnes();

  const Deps deps_;
  std::set<std::string> unvouched_;  // keys of the table
  std::set<std::string> awaited_;    // UIDs
  std::vector<Done> askers_;
  bool complete_ = false;
  exec::TimerId slow_timer_ = 0, put_timer_ = 0;
};

}  // namespace splitlet::pleg
