#include "services/status/api/heartbeat_retry.h"

namespace splitlet::status {
namespace {

constexpr int kMaxCalls = 5;                                      // in a round
constexpr Duration kFirstPause = std::chrono::milliseconds{100};  // before the third call

}  // namespace

std::optional<Duration> PauseAfter(int done, const Status& status) {
  if (done >= kMaxCalls || status.code() == StatusCode::kResourceExhausted) return std::nullopt;
  if (status.code() != StatusCode::kUnavailable || done < 2) return Duration{0};
  return kFirstPause * (1 << (done - 2));
}

bool HeartbeatRetry::WaitForNext(int done, const Status& status) const {
  const auto pause = PauseAfter(done, status);
  if (!pause || stop->cancelled()) return false;
  if (*pause == Duration{0}) return true;
  return apiclient::Pause(clock, wait, *pause, {.at = clock.Now() + *pause, .cancel = stop});
}

}  // namespace splitlet::status
