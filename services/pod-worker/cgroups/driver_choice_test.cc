#include "services/pod-worker/cgroups/driver_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/fs/fake_file_system.h"

namespace splitlet::pod_worker {
namespace {

/// The version that the metric names; empty: there is no metric.
std::string LosingSupport(const prometheus::Registry& registry) {
  for (const auto& family : registry.Collect()) {
    if (family.name != "kubelet_cri_losing_support" || family.metric.empty()) continue;
    EXPECT_EQ(family.metric.at(0).gauge.value, 1);
    return family.metric.at(0).label.at(0).value;
  }
  return "";
}

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
      {"it was made again", "cgroupfs", "systemd", "systemd", "cgroupfs", "cgroupfs"},
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
    prometheus::Registry registry;
    Metrics metrics(registry);
    EXPECT_EQ(ChooseDriver({.ask = [&] { return c.said; },
                            .configured = c.configured,
                            .kept_path = kPath,
                            .metrics = metrics},
                           files, Log(sink)),
              c.want);
    EXPECT_EQ(files.Read(kPath, 64).value_or(""), c.kept_then);
    const auto lines = sink.lines();
    const bool away = !c.said.ok() && c.said.status().code() != StatusCode::kUnimplemented;
    EXPECT_EQ(std::ranges::count(lines, LogLevel::kWarn, &FakeLogSink::Line::level), away ? 1 : 0)
        << "a file without cgroupDriver has the default, and the runtime's counts";
    EXPECT_EQ(LosingSupport(registry),
              c.said.status().code() == StatusCode::kUnimplemented ? "1.37.0" : "");
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
