#include "services/pod-worker/cgroups/driver_choice.h"

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMaxBytes = 64;
/// The Kubernetes version whose kubelet requires a runtime that reports its driver.
constexpr const char* kNeededFrom = "1.37.0";

bool IsDriver(const std::string& name) { return name == "systemd" || name == "cgroupfs"; }

}  // namespace

std::string ChooseDriver(const DriverChoice& choice, fs::FileSystem& files, const Log& log) {
  const StatusOr<std::string> reported = choice.ask();
  if (reported.ok()) {
    if (*reported != choice.configured)
      log.Info("cgroupDriver differs from the runtime's cgroup driver, using the runtime's",
               {KV("runtime", *reported), KV("cgroupDriver", choice.configured)});
    log.LogIfError(files.Replace(choice.kept_path, *reported, {.fsync = true}),
                   "save the cgroup driver of the runtime");
    return *reported;
  }
  if (reported.status().code() == StatusCode::kUnimplemented) {
    choice.metrics.losing_support.Add({{"version", kNeededFrom}}).Set(1);
    return choice.configured;
  }
  const auto kept = files.Read(choice.kept_path, kMaxBytes);
  const std::string taken = kept.ok() && IsDriver(*kept) ? *kept : choice.configured;
  log.Warn("cannot read the cgroup driver of the runtime, using the last known or configured one",
           {KV("using", taken), KV("err", reported.status())});
  return taken;
}

}  // namespace splitlet::pod_worker
