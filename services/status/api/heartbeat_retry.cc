#include "services/status/api/heartbeat_retry.h"

namespace splitlet::status {
namespace {

constexpr int kMaxCalls = 5;                                      // in a round
constexpr Duration kFirstPause = std::chrono::milliseconds{100};  // before the third call

}  // namespace

bool HeartbeatRetry::WaitForNext(int done, const Status& status) const {
  if (done >= kMaxCalls || stop->cancelled()) return false;
  if (status.code() == StatusCode::kResourceExhausted) return false;
  if (status.code() != StatusCode::kUnavailable || done < 2) return true;
  const Duration pause = kFirstPause * (1 << (done - 2));
  return apiclient::Pause(clock, wait, pause, {.at = clock.Now() + pause, .cancel = stop});
}

}  // namespace splitlet::status
