#include "services/status/api/heartbeat_retry.h"

#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

TEST(HeartbeatRetry, ACallIsRepeatedFiveTimesUnlessTheServerHasNoRoom) {
  const struct {
    const char* name;
    int done;
    Status status;
    std::optional<Duration> want;
  } kCases[] = {
      {"a conflict is tried again immediately", 1, Aborted("conflict"), 0s},
      {"also for the fourth time", 4, Aborted("conflict"), 0s},
      {"five calls are enough", 5, Aborted("conflict"), std::nullopt},
      {"a refusal is tried again", 1, PermissionDenied("no"), 0s},
      {"a server that is away, at first", 1, Unavailable("away"), 0s},
      {"then after a pause", 2, Unavailable("away"), 100ms},
      {"which grows", 3, Unavailable("away"), 200ms},
      {"and grows", 4, Unavailable("away"), 400ms},
      {"and ends", 5, Unavailable("away"), std::nullopt},
      {"a server without room", 1, ResourceExhausted("busy"), std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(PauseAfter(c.done, c.status), c.want);
  }
}

}  // namespace
}  // namespace splitlet::status
