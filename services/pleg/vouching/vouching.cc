#include "services/pleg/vouching/vouching.h"

#include <iterator>
#include <utility>

#include "libs/base/fail_point.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

// No listing waits longer than this for an inspection.
constexpr Duration kSlow = std::chrono::seconds{2};
constexpr Duration kPutPeriod = std::chrono::milliseconds{100};

}  // namespace

Promise NextPromise(bool complete, Clock::Time listed, bool awaited) {
  if (!listed) return Promise::kNone;
  if (complete) return Promise::kNewer;
  return awaited ? Promise::kNone : Promise::kFirst;
}

Vouching::~Vouching() {
  deps_.loop.CancelTimer(slow_timer_);
  deps_.loop.CancelTimer(put_timer_);
}

void Vouching::Vouch(const std::string& uid) {
  unvouched_.erase(bus::KeyOf(uid));
  awaited_.erase(uid);
}

void Vouching::Withdraw(const std::string& uid) { unvouched_.insert(bus::KeyOf(uid)); }

bool Vouching::IsVouched(const std::string& uid) const {
  return !unvouched_.contains(bus::KeyOf(uid));
}

void Vouching::AnswerWhenInspected(std::vector<Done> askers) {
  std::move(askers.begin(), askers.end(), std::back_inserter(askers_));
}

void Vouching::PutSoon() {
  if (deps_.table.completeness().not_vouched == unvouched_ || put_timer_ != 0) return;
  put_timer_ = deps_.loop.RunAfter(kPutPeriod, [this] {
    put_timer_ = 0;
    Put();
  });
}

void Vouching::GiveUpSlowOnes() {
  if (slow_timer_ != 0) return;
  slow_timer_ = deps_.loop.RunAfter(kSlow, [this] {
    slow_timer_ = 0;
    std::erase_if(awaited_, [this](const std::string& uid) {
      return deps_.clock.Now() - deps_.inspecting_since(uid) >= kSlow;
    });
    Put();
  });
}

void Vouching::Put() {
  const Clock::Time listed = deps_.last_listing();
  if (!listed) return;
  deps_.metrics.unvouched_pods.Set(static_cast<double>(unvouched_.size()));
  const bool waits = AnyAwaited();
  if (waits) {
    GiveUpSlowOnes();
  } else {
    for (auto& done : std::exchange(askers_, {})) done(listed);
  }
  const Promise promise = NextPromise(complete_, listed, waits);
  if (promise == Promise::kNone) return;
  complete_ = true;
  if (promise == Promise::kFirst) deps_.put_missing();
  bus::Completeness completeness{
      .scopes = {std::string(bus::kAll)}, .observed_at = listed, .not_vouched = unvouched_};
  if (deps_.table.completeness() == completeness) return;
  FAIL_POINT_VOID("pleg.complete.before");
  deps_.table.SetComplete(std::move(completeness));
  FAIL_POINT_VOID("pleg.complete.after");
}

}  // namespace splitlet::pleg
