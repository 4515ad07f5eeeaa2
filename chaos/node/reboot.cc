#include "chaos/node/reboot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "chaos/node/text_files.h"
#include "chaos/scenario/scenario.h"
#include "libs/base/random.h"
#include "libs/operate/host_resources.h"
#include "libs/process/process_tree.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kMark = "export SPLITLET_BOOT_ID=";

/// Keeps runit from restarting the service when it ends.
void LetEnd(const std::string& service) {
  const int fd =
      open(("sv/" + service + "/supervise/control").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "o", 1) != 1) fmt::print(stderr, "warning: runit does not take commands\n");
  close(fd);
}

void KillContainers(const LocalPaths& paths) {
  process::KillTrees(
      process::PidsWith({"containerd-shim", paths.containerd() + "/containerd.sock"}));
}

void DropMounts(const std::string& folder) {
  std::ifstream file("/proc/self/mountinfo");
  std::string line;
  std::vector<std::string> points;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    if (word.starts_with(folder + "/")) points.push_back(word);
  }
  std::ranges::sort(points, std::ranges::greater{}, &std::string::size);
  for (const auto& point : points) umount2(point.c_str(), MNT_DETACH);
}

/// Sandboxes and containers that had a process.
std::set<std::string> TasksOf(const LocalPaths& paths) {
  std::set<std::string> ids;
  std::error_code error;
  const std::string tasks = paths.containerd() + "/state/io.containerd.runtime.v2.task/k8s.io";
  for (stdfs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error))
    ids.insert(it->path().filename().string());
  return ids;
}

/// After a reboot a kernel has no cgroups. Removes the innermost first, and waits for processes
/// that are still ending.
void DropCgroups(const std::set<std::string>& ids) {
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> groups = operate::CgroupsOf({.ids = ids, .uids = {}});
    std::ranges::sort(groups, std::ranges::greater{}, &std::string::size);
    for (const auto& group : groups) rmdir(group.c_str());
    if (groups.empty()) return;
    poll(nullptr, 0, 50);
  }
}

/// Adds a line at the beginning of the service's script.
Status SetBootId(const std::string& process, const std::string& id) {
  const std::string path = "sv/" + process + "/run";
  std::istringstream lines(ReadAll(path));
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.starts_with(kMark)) continue;
    out += line + "\n";
    if (line.starts_with("#!")) out += kMark + id + "\n";
  }
  RETURN_IF_ERROR(WriteByRename(path, out), "{}", path);
  return chmod(path.c_str(), 0755) == 0 ? OkStatus() : ErrnoStatus(errno);
}

/// The API server counts as another machine and keeps running.
std::vector<std::string> ServicesHere(operate::Supervisor& supervisor) {
  std::vector<std::string> here;
  for (const auto& service : Services())
    if (service != kApiServer && supervisor.PidOf(service).ok()) here.push_back(service);
  return here;
}

}  // namespace

Status Reboot(const LocalPaths& paths, operate::Supervisor& supervisor) {
  const auto services = ServicesHere(supervisor);
  for (const auto& service : services) LetEnd(service);
  int killed = 0;
  for (const auto& service : services) killed += supervisor.Signal(service, SIGKILL).ok() ? 1 : 0;
  if (killed == 0) return FailedPrecondition("nothing runs");
  KillContainers(paths);
  for (const auto& service : services)
    if (const Status down = supervisor.TakeDown(service); !down.ok()) return down;
  KillContainers(paths);
  std::error_code error;
  const std::set<std::string> ids = TasksOf(paths);
  DropMounts(paths.containerd() + "/state");
  stdfs::remove_all(paths.containerd() + "/state", error);
  stdfs::remove_all(paths.containerd() + "/runc", error);
  DropCgroups(ids);
  RETURN_IF_ERROR(operate::DropNetworkRules(paths.containerd()), "rules of the pod network");
  const RealClock clock;
  Random random(static_cast<uint64_t>(ToNanos(clock.WallNow())));
  const std::string id =
      fmt::format("{:08x}-0000-4000-8000-{:012x}", random.Next() >> 32, random.Next() >> 16);
  for (const auto& service : services)
    if (service != "nats" && service != "containerd")
      RETURN_IF_ERROR(SetBootId(service, id), "boot id of {}", service);
  for (const auto& service : services)
    RETURN_IF_ERROR(supervisor.BringUp(service), "start after the reboot");
  return OkStatus();
}

}  // namespace splitlet::chaos
