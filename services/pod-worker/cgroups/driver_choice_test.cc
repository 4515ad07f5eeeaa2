#include "services/pod-worker/cgroups/driver_choice.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"

namespace splitlet::pod_worker {
namespace {

TEST(ChooseDriver, TheRuntimesGoesFirst) {
  const std::string kPath = "/state/pod-worker/cgroup-driver";
  const struct {
    const char* name;
    StatusOr<std::string> said;
    std::string configured, kept;  // "": nothing is kept
    std::string want, kept_then;
  } kCases[] = {
      {"it says the same", "systemd", "systemd", "", "systemd", "systemd"},
      {"it says another", "systemd", "cgroupfs", "", "systemd", "systemd"},
      {"it was made anew", "cgroupfs", "systemd", "systemd", "cgroupfs", "cgroupfs"},
      {"it never says", Unimplemented("old"), "systemd", "", "systemd", ""},
      {"it does not say any more", Unimplemented("old"), "cgroupfs", "systemd", "cgroupfs",
       "systemd"},
      {"it is away", Unavailable("away"), "cgroupfs", "systemd", "systemd", "systemd"},
      {"it was never there", DeadlineExceeded("away"), "cgroupfs", "", "cgroupfs", ""},
      {"what is kept is broken", Unavailable("away"), "systemd", "sys", "systemd", "sys"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    FakeLogSink sink;
    if (!c.kept.empty()) {
      ASSERT_TRUE(files.Replace(kPath, c.kept, {}).ok());
    }
    EXPECT_EQ(ChooseDriver(
                  {.ask = [&] { return c.said; }, .configured = c.configured, .kept_path = kPath},
                  files, Log(sink)),
              c.want);
    EXPECT_EQ(files.Read(kPath, 64).value_or(""), c.kept_then);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
