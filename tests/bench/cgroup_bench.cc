// Measures a pod's cgroup in this machine's kernel: creating, limiting and removing it, by the same
// class as pod-worker. Needs root. Usage: cgroup_bench

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "libs/base/clock.h"
#include "libs/cgroup/kernel.h"
#include "libs/cgroup/layout.h"
#include "libs/cgroup/tree.h"
#include "libs/fs/real_file_system.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

constexpr int kPods = 200;

/// The limits of a Burstable pod with everything that a kubelet sets.
const cgroup::Limits kLimits{.cpu_shares = 256,
                             .cpu_quota_us = 50'000,
                             .cpu_period_us = 100'000,
                             .memory_bytes = 64 << 20,
                             .pids = 100};

void Run(const cgroup::Tree& tree) {
  const RealClock clock;
  const cgroup::Name parent = {fmt::format("splitlet-bench-{}", getpid())};
  CHECK(tree.Make(parent).ok());
  Result made{.name = "cgroups: a pod's made and limited", .unit = "ms"};
  Result all{.name = "cgroups: a pod's made, limited and taken down", .unit = "ms"};
  all.limit_p50 = 2;
  for (int i = 0; i < kPods; ++i) {
    const cgroup::Name pod = {parent[0], fmt::format("pod{}", i)};
    const auto began = clock.Now();
    const Status done = tree.Make(pod);
    CHECK(done.ok(), "{}", done);
    const Status limited = tree.Set(pod, kLimits);
    CHECK(limited.ok(), "{}", limited);
    const Duration to_limited = clock.Now() - began;
    const auto over = clock.Now();
    const Status gone = tree.Destroy(pod);
    CHECK(gone.ok(), "{}", gone);
    made.values.push_back(Ms(to_limited.count()));
    all.values.push_back(Ms((to_limited + (clock.Now() - over)).count()));
  }
  const Status gone = tree.Destroy(parent);
  CHECK(gone.ok(), "{}", gone);
  Print(made);
  Print(all);
}

int Main() {
  if (geteuid() != 0) {
    std::fprintf(stderr, "cgroups SKIPPED: they are made by root\n");
    return 0;
  }
  fs::RealFileSystem files;
  const auto mounts = files.Read("/proc/self/mountinfo", 1 << 20);
  CHECK(mounts.ok(), "{}", mounts.status());
  const auto layout = cgroup::ParseLayout(*mounts);
  if (!layout.ok()) {
    std::fprintf(stderr, "cgroups SKIPPED: %s\n", Message(layout.status()).c_str());
    return 0;
  }
  cgroup::RealKernel kernel;
  Run(cgroup::Tree(kernel, *layout));
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main() { return splitlet::bench::Main(); }
