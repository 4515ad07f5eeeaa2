#include "services/config-source/desired/pod_state.h"

#include <gtest/gtest.h>

namespace splitlet::config_source {
namespace {

TEST(PodState, EveryTransition) {
  using enum PodState;
  const struct {
    const char* name;
    PodState before;
    PodEvent event;
    PodState after;
  } cases[] = {
      {"a delivered pod stays wanted", kWanted, PodEvent::kDelivered, kWanted},
      {"a pod that is not delivered is removed", kWanted, PodEvent::kWithdrawn, kRemoved},
      {"a delivery confirms a saved pod", kUnconfirmed, PodEvent::kDelivered, kWanted},
      {"an unconfirmed pod is removed", kUnconfirmed, PodEvent::kWithdrawn, kRemoved},
      {"a removed pod never comes back in its incarnation", kRemoved, PodEvent::kDelivered,
       kRemoved},
      {"a removed pod stays removed", kRemoved, PodEvent::kWithdrawn, kRemoved},
      {"a mirror pod never runs", kMirror, PodEvent::kDelivered, kMirror},
      {"a mirror pod needs no end", kMirror, PodEvent::kWithdrawn, kMirror},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Next(c.before, c.event), c.after);
  }
}

TEST(PodState, AfterAStart) {
  using enum PodState;
  const struct {
    const char* name;
    PodState saved;
    const char* source;
    bool this_boot;
    PodState want;
  } cases[] = {
      {"a static pod is wanted", kWanted, "file", true, kWanted},
      {"a static pod is wanted after a reboot", kWanted, "file", false, kWanted},
      {"an API pod is wanted after a restart", kWanted, "api", true, kWanted},
      {"an API pod waits for the server after a reboot", kWanted, "api", false, kUnconfirmed},
      {"an API pod that waits goes on waiting", kUnconfirmed, "api", true, kUnconfirmed},
      {"a removed pod stays removed", kRemoved, "api", false, kRemoved},
      {"a removed static pod stays removed", kRemoved, "file", true, kRemoved},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(StateAfterStart(c.saved, c.source, c.this_boot), c.want);
  }
}

}  // namespace
}  // namespace splitlet::config_source
