#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ctl/chaos/forgotten.h"
#include "ctl/chaos/local_node.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

void AddMounts(const LocalPaths& paths, std::set<std::string>& things) {
  std::ifstream file("/proc/self/mountinfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    if (word.starts_with(paths.top + "/")) things.insert("mount " + word);
  }
}

/// What is directly in a folder.
void AddEntries(const std::string& what, const std::string& folder, std::set<std::string>& things) {
  std::error_code error;
  for (stdfs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    things.insert(what + " " + it->path().filename().string());
}

/// Files at any depth that are named by an address; others are the plugin's own.
void AddAddresses(const std::string& what, const std::string& folder,
                  std::set<std::string>& things) {
  std::error_code error;
  for (stdfs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789.:abcdef") == std::string::npos &&
        name.find_first_of(".:") != std::string::npos)
      things.insert(what + " " + name);
  }
}

}  // namespace

std::vector<std::string> CgroupsOf(const std::set<std::string>& ids) {
  std::vector<std::string> groups;
  std::error_code error;
  const auto skip = stdfs::directory_options::skip_permission_denied;
  for (stdfs::recursive_directory_iterator it("/sys/fs/cgroup", skip, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!it->is_directory(gone)) continue;
    if (it.depth() > 6) it.disable_recursion_pending();
    const std::string name = it->path().filename().string();
    if (ids.contains(name)) groups.push_back(it->path().string());
  }
  return groups;
}

void RemoveThing(const LocalPaths& paths, const std::string& thing) {
  std::error_code error;
  const std::string id = IdOf(thing);
  const auto is = [&thing](std::string_view kind) { return thing.starts_with(kind); };
  if (is("shim ")) KillTree(static_cast<pid_t>(std::strtol(thing.c_str() + 5, nullptr, 10)));
  if (is("mount ")) umount2(thing.c_str() + 6, MNT_DETACH);
  if (is("cgroup ")) rmdir(thing.c_str() + 7);
  if (is("container of runc ")) stdfs::remove_all(paths.containerd() + "/runc/k8s.io/" + id, error);
  if (is("network namespace ")) {
    const std::string file = paths.containerd() + "/state/io.containerd.grpc.v1.cri/netns/" +
                             thing.substr(sizeof("network namespace ") - 1);
    umount2(file.c_str(), MNT_DETACH);
    unlink(file.c_str());
  }
  if (is("task ")) {
    const std::string task =
        paths.containerd() + "/state/io.containerd.runtime.v2.task/k8s.io/" + id;
    umount2((task + "/rootfs").c_str(), MNT_DETACH);
    stdfs::remove_all(task, error);
  }
}

std::vector<pid_t> PidsWith(const std::vector<std::string>& parts) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (stdfs::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = ReadAll("/proc/" + name + "/cmdline");
    bool all = !line.empty();
    for (const auto& part : parts) all = all && line.find(part) != std::string::npos;
    if (all) pids.push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
  }
  return pids;
}

std::set<std::string> ThingsOf(const LocalPaths& paths, const std::set<std::string>& ids) {
  std::set<std::string> things;
  AddMounts(paths, things);
  for (const auto& group : CgroupsOf(ids)) things.insert("cgroup " + group);
  AddEntries("mark of a pod directory", paths.state + "/pods", things);
  AddEntries("pod directory", paths.root + "/pods", things);
  AddEntries("log directory", paths.logs, things);
  AddEntries("fact of pod-worker", paths.state + "/pod-worker/pods", things);
  AddEntries("fact of config-source", paths.state + "/config-source/pods", things);
  AddEntries("admission", paths.run + "/sync-loop/admission", things);
  if (const std::string containerd = paths.containerd(); !containerd.empty()) {
    AddEntries("network namespace", containerd + "/state/io.containerd.grpc.v1.cri/netns", things);
    AddEntries("container of runc", containerd + "/runc/k8s.io", things);
    AddEntries("task", containerd + "/state/io.containerd.runtime.v2.task/k8s.io", things);
    AddAddresses("address", containerd + "/cni/ipam", things);
    for (const pid_t shim : PidsWith({"containerd-shim", containerd + "/containerd.sock"}))
      things.insert(
          fmt::format("shim {} of {}", shim, IdOf(ReadAll(fmt::format("/proc/{}/cmdline", shim)))));
  }
  return things;
}

}  // namespace splitlet::chaos
