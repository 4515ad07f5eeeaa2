#include "chaos/node/host_resources.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "chaos/node/process_tree.h"
#include "chaos/node/text_files.h"
#include "chaos/runtime_leaks.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

void AddMounts(const LocalPaths& paths, std::set<std::string>& resources) {
  std::ifstream file("/proc/self/mountinfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    if (word.starts_with(paths.top + "/")) resources.insert("mount " + word);
  }
}

/// What is directly in a folder.
void AddEntries(const std::string& what, const std::string& folder,
                std::set<std::string>& resources) {
  std::error_code error;
  for (stdfs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    resources.insert(what + " " + it->path().filename().string());
}

/// Files at any depth that are named by an address; others are the plugin's own.
void AddAddresses(const std::string& what, const std::string& folder,
                  std::set<std::string>& resources) {
  std::error_code error;
  for (stdfs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789.:abcdef") == std::string::npos &&
        name.find_first_of(".:") != std::string::npos)
      resources.insert(what + " " + name);
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

void RemoveHostResource(const LocalPaths& paths, const std::string& resource) {
  std::error_code error;
  const std::string id = RuntimeIdOf(resource);
  const auto is = [&resource](std::string_view kind) { return resource.starts_with(kind); };
  if (is("shim ")) KillTrees({static_cast<pid_t>(std::strtol(resource.c_str() + 5, nullptr, 10))});
  if (is("mount ")) umount2(resource.c_str() + 6, MNT_DETACH);
  if (is("cgroup ")) rmdir(resource.c_str() + 7);
  if (is("container of runc ")) stdfs::remove_all(paths.containerd() + "/runc/k8s.io/" + id, error);
  if (is("network namespace ")) {
    const std::string file = paths.containerd() + "/state/io.containerd.grpc.v1.cri/netns/" +
                             resource.substr(sizeof("network namespace ") - 1);
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

std::set<std::string> HostResourcesOf(const LocalPaths& paths, const std::set<std::string>& ids) {
  std::set<std::string> resources;
  AddMounts(paths, resources);
  for (const auto& group : CgroupsOf(ids)) resources.insert("cgroup " + group);
  AddEntries("mark of a pod directory", paths.state + "/pods", resources);
  AddEntries("pod directory", paths.root + "/pods", resources);
  AddEntries("log directory", paths.logs, resources);
  AddEntries("fact of pod-worker", paths.state + "/pod-worker/pods", resources);
  AddEntries("fact of config-source", paths.state + "/config-source/pods", resources);
  AddEntries("admission", paths.run + "/sync-loop/admission", resources);
  if (const std::string containerd = paths.containerd(); !containerd.empty()) {
    AddEntries("network namespace", containerd + "/state/io.containerd.grpc.v1.cri/netns",
               resources);
    AddEntries("container of runc", containerd + "/runc/k8s.io", resources);
    AddEntries("task", containerd + "/state/io.containerd.runtime.v2.task/k8s.io", resources);
    AddAddresses("address", containerd + "/cni/ipam", resources);
    for (const pid_t shim : PidsWith({"containerd-shim", containerd + "/containerd.sock"}))
      resources.insert(fmt::format("shim {} of {}", shim,
                                   RuntimeIdOf(ReadAll(fmt::format("/proc/{}/cmdline", shim)))));
  }
  return resources;
}

}  // namespace splitlet::chaos
