#include "services/pod-worker/cgroups/driver_choice.h"

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMaxBytes = 64;
/// From which on a kubelet counts on a runtime that says its driver.
constexpr const char* kNeededFrom = "1.37.0";

bool IsDriver(const std::string& name) { return name == "systemd" || name == "cgroupfs"; }

}  // namespace

std::string ChooseDriver(const DriverChoice& choice, fs::FileSystem& files, const Log& log) {
  const StatusOr<std::string> said = choice.ask();
  if (said.ok()) {
    if (*said != choice.configured)
      log.Info(
          "the runtime has another driver of cgroups than the configuration; the runtime's counts",
          {KV("runtime", *said), KV("cgroupDriver", choice.configured)});
    log.LogIfError(files.Replace(choice.kept_path, *said, {.fsync = true}),
                   "keep the driver of cgroups");
    return *said;
  }
  if (said.status().code() == StatusCode::kUnimplemented) {
    choice.metrics.losing_support.Add({{"version", kNeededFrom}}).Set(1);
    return choice.configured;
  }
  const auto kept = files.Read(choice.kept_path, kMaxBytes);
  const std::string taken = kept.ok() && IsDriver(*kept) ? *kept : choice.configured;
  log.Warn("the runtime does not say its driver of cgroups",
           {KV("taken", taken), KV("err", said.status())});
  return taken;
}

}  // namespace splitlet::pod_worker
