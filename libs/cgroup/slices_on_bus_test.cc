#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/cgroup/fake_kernel.h"
#include "libs/cgroup/fake_systemd.h"
#include "libs/cgroup/tree.h"
#include "libs/dbus/connection.h"
#include "tests/harness/child.h"
#include "tests/harness/dbus_daemon.h"

namespace splitlet::cgroup {
namespace {

/// Slices over a bus with its own daemon: messages must have the types that a real bus requires.
TEST(SlicesOnBus, AreMadeLimitedAndTakenDownAndABusThatWasAwayIsFoundAgain) {
  const RealClock clock;
  const harness::TempDir dir("slices");
  harness::DbusDaemon daemon(dir.path());
  const Layout layout = FakeKernel::V2();
  FakeKernel kernel(layout);
  std::unique_ptr<dbus::ServiceBus> service;
  FakeSystemd systemd(kernel, layout, [&service](const dbus::Signal& signal) {
    EXPECT_TRUE(service->Emit(signal).ok());
  });
  const auto serve = [&] {
    service.reset();
    auto made = dbus::ConnectService({clock, daemon.address()}, After(clock, 20s));
    ASSERT_TRUE(made.ok()) << made.status();
    service = std::move(*made);
    const Status served = service->Serve(
        FakeSystemd::kName, [&systemd](const auto& call) { return systemd.OnCall(call); },
        After(clock, 20s));
    ASSERT_TRUE(served.ok()) << served;
  };
  serve();
  SystemdSlices slices(clock, dbus::ConnectTo(clock, daemon.address()));
  const Tree tree(kernel, layout, &slices);
  const Name pod = SliceName({"kubepods", "pod1"});

  const Status made = tree.Make(pod);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(tree.Make(pod).ok()) << "again";
  const Status set = tree.Set(pod, {.cpu_shares = 1024, .memory_bytes = 4096, .pids = 7});
  EXPECT_TRUE(set.ok()) << set;
  EXPECT_EQ(systemd.PropertiesOf("kubepods-pod1.slice").at("MemoryMax"),
            dbus::Value(uint64_t{4096}));

  daemon.Kill();
  EXPECT_EQ(slices.Stop("kubepods-pod1.slice").code(), StatusCode::kUnavailable);
  daemon.Start();
  serve();
  const Status gone = tree.Destroy(pod);
  EXPECT_TRUE(gone.ok()) << gone;
  EXPECT_THAT(systemd.Running(), testing::ElementsAre("kubepods.slice"));
}

}  // namespace
}  // namespace splitlet::cgroup
