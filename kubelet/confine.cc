#include "kubelet/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "libs/base/processes.h"
#include "libs/fs/fd.h"

namespace splitlet::kubelet {
namespace {

/// OOMScoreAdjust= of the units.
constexpr int kKeptAlive = -900;
/// Processes that make and remove mounts, cgroups and files of any user.
constexpr std::string_view kNeedRoot = "pod-worker|gc";

Status SetOomScore(int score) {
  const fs::Fd fd(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(score);
  if (!fd.ok() || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Annotate(ErrnoStatus(errno), "oom_score_adj");
  return OkStatus();
}

/// Goes up to the first capability that the kernel does not know, since kernels have different
/// numbers of them.
Status DropBoundingSet(const std::vector<int>& kept) {
  for (int one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
    if (std::ranges::find(kept, one) != kept.end()) continue;
    if (prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0)
      return Annotate(ErrnoStatus(errno), "bounding set");
  }
  return OkStatus();
}

/// Inheritable capabilities would survive exec despite the bounding set.
Status DropInheritable() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return Annotate(ErrnoStatus(errno), "capget");
  for (auto& set : sets) set.inheritable = 0;
  if (syscall(SYS_capset, &header, sets) != 0) return Annotate(ErrnoStatus(errno), "capset");
  return OkStatus();
}

}  // namespace

Confinement ConfinementOf(std::string_view name) {
  Confinement confinement{.oom_score = kKeptAlive};
  if (FindProcess(name) == nullptr || IsListed(kNeedRoot, name)) return confinement;
  // Manifests, kubeconfigs and logs may belong to another user; a port may be below 1024.
  confinement.capabilities = std::vector<int>{CAP_DAC_READ_SEARCH, CAP_NET_BIND_SERVICE};
  return confinement;
}

Status Confine(const Confinement& confinement) {
  if (confinement.capabilities && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Annotate(ErrnoStatus(errno), "no_new_privs");
  if (geteuid() != 0) return OkStatus();
  if (confinement.capabilities) {
    if (Status dropped = DropBoundingSet(*confinement.capabilities); !dropped.ok()) return dropped;
    if (Status dropped = DropInheritable(); !dropped.ok()) return dropped;
  }
  // Last, because some containers do not let root set it.
  return confinement.oom_score ? SetOomScore(*confinement.oom_score) : OkStatus();
}

}  // namespace splitlet::kubelet
