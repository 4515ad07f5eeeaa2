#include "services/pod-worker/node/sysctls.h"

#include <array>
#include <string>
#include <string_view>

#include "libs/base/trim.h"

namespace splitlet::pod_worker {
namespace {

struct Sysctl {
  const char *name, *value;
};

constexpr auto kSysctls = std::to_array<Sysctl>({
    {"vm/overcommit_memory", "1"},
    {"vm/panic_on_oom", "0"},
    {"kernel/panic", "10"},
    {"kernel/panic_on_oops", "1"},
    {"kernel/keys/root_maxkeys", "1000000"},
    {"kernel/keys/root_maxbytes", "25000000"},
});

constexpr uint64_t kMaxSysctl = 4096;

Status EnsureOne(fs::FileSystem& files, const fs::InPlaceWriter& write, const Sysctl& sysctl,
                 SysctlRule rule) {
  const std::string path = std::string("/proc/sys/") + sysctl.name;
  ASSIGN_OR_RETURN(const std::string text, files.Read(path, kMaxSysctl), "{}", path);
  const std::string_view now = FirstLine(text);
  if (now == sysctl.value) return OkStatus();
  if (rule == SysctlRule::kCheck)
    return FailedPrecondition("{}: want {}, not {}", path, sysctl.value, now);
  return Annotate(write(path, sysctl.value), path);
}

}  // namespace

Status EnsureSysctls(fs::FileSystem& files, const fs::InPlaceWriter& write, SysctlRule rule) {
  std::string troubles;
  for (const Sysctl& sysctl : kSysctls) {
    const Status done = EnsureOne(files, write, sysctl, rule);
    if (!done.ok()) troubles += (troubles.empty() ? "" : "; ") + Message(done);
  }
  return troubles.empty() ? OkStatus() : FailedPrecondition("{}", troubles);
}

}  // namespace splitlet::pod_worker
