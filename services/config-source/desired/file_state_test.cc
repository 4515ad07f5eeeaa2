#include "services/config-source/desired/file_state.h"

#include <gtest/gtest.h>

namespace splitlet::config_source {
namespace {

TEST(FileState, EveryTransition) {
  using S = FileState;
  using E = FileEvent;
  const struct {
    const char* name;
    S before;
    E event;
    S after;
  } cases[] = {
      {"a change is written immediately", S::kWritten, E::kChanged, S::kWriting},
      {"a written file stays", S::kWritten, E::kWritten, S::kWritten},
      {"a written file has no write that could fail", S::kWritten, E::kFailed, S::kWritten},
      {"a change waits for the write in flight", S::kWriting, E::kChanged, S::kOutdated},
      {"a write that succeeds ends", S::kWriting, E::kWritten, S::kWritten},
      {"a write that fails waits for its timer", S::kWriting, E::kFailed, S::kFailed},
      {"the newest of several changes waits", S::kOutdated, E::kChanged, S::kOutdated},
      {"the change is written after the write in flight", S::kOutdated, E::kWritten, S::kWriting},
      {"the change is written after a failure, without a timer", S::kOutdated, E::kFailed,
       S::kWriting},
      {"the timer, or a change, repeats a failed write", S::kFailed, E::kChanged, S::kWriting},
      {"a failed write has ended", S::kFailed, E::kWritten, S::kFailed},
      {"a failed write fails once", S::kFailed, E::kFailed, S::kFailed},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Next(c.before, c.event), c.after);
  }
}

}  // namespace
}  // namespace splitlet::config_source
