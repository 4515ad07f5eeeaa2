#include "libs/daemon/owned_fail_points.h"

#include <gtest/gtest.h>

namespace splitlet::daemon {
namespace {

TEST(OwnedFailPoints, AProcessHasItsOwnAndThoseOfTheLibrariesThatItUses) {
  const struct {
    const char *process, *point;
    bool own;
  } kCases[] = {{"status", "status.put.before", true},
                {"status", "gc.hold.before", false},
                {"sync-loop", "pod-worker.put-workers.before", false},
                {"status", "bus.publish.before", true},
                {"gc", "fs.replace.before", true},
                {"gc", "clock.wall", true},
                {"pleg", "cri.list-containers.before", true},
                {"config-source", "cri.list-containers.before", false},
                {"pod-worker", "csi.node-get-info.before", true},
                {"pod-worker", "plugins.notify.after", true},
                {"gc", "csi.node-get-info.before", false},
                {"status", "plugins.notify.after", false},
                {"probe", "plugins.notify.after", true},
                {"probe", "some.point", true},
                {"gc", "gc", true}};
  for (const auto& c : kCases)
    EXPECT_EQ(OwnsFailPoint(c.process, c.point), c.own) << c.process << " " << c.point;
}

}  // namespace
}  // namespace splitlet::daemon
