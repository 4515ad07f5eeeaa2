#include "libs/apiclient/waiting.h"

#include <memory>

#include "libs/base/cancel.h"

namespace splitlet::apiclient {

void Gate::Open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  opened_.notify_all();
}

bool Gate::IsOpen() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

bool Gate::Wait(const Clock& clock, const WaitUntil& wait, Clock::Time until) const {
  if (wait) return wait(until, [this] { return IsOpen(); });
  std::unique_lock lock(mutex_);
  return opened_.wait_for(lock, Remaining(clock, {until}), [this] { return open_; });
}

bool Pause(const Clock& clock, const WaitUntil& wait, Duration duration, const Deadline& deadline) {
  // Shared: the cancelling thread may still be inside of Open.
  const auto given_up = std::make_shared<Gate>();
  int cancel_id = 0;
  if (deadline.cancel != nullptr)
    cancel_id = deadline.cancel->Add([given_up] { given_up->Open(); });
  const bool cancelled = given_up->Wait(clock, wait, clock.Now() + duration);
  if (cancel_id != 0) deadline.cancel->Remove(cancel_id);
  return !cancelled;
}

}  // namespace splitlet::apiclient
