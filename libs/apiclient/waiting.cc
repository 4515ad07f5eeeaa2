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
  // Shared: a token that is being cancelled may still be inside Open.
  const auto given_up = std::make_shared<Gate>();
  int told = 0;
  if (deadline.cancel != nullptr) told = deadline.cancel->Add([given_up] { given_up->Open(); });
  const bool cancelled = given_up->Wait(clock, wait, clock.Now() + duration);
  if (told != 0) deadline.cancel->Remove(told);
  return !cancelled;
}

}  // namespace splitlet::apiclient
