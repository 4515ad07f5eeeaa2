#include "libs/operate/host_resources.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include "libs/fs/directory_walk.h"
#include "libs/fs/mount_table.h"
#include "libs/fs/real_file_system.h"
#include "libs/operate/runtime_leaks.h"
#include "libs/process/proc_files.h"
#include "libs/process/process_tree.h"
#include "libs/process/run_program.h"

namespace splitlet::operate {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kNamespaces = "/state/io.containerd.grpc.v1.cri/netns";
constexpr const char* kTasks = "/state/io.containerd.runtime.v2.task/k8s.io";
constexpr const char* kRunc = "/runc/k8s.io";
/// libcni's directory of the networks it has set up.
constexpr const char* kResults = "/var/lib/cni/results";

constexpr std::string_view kJump = " -j ";
constexpr const char* kSandboxChain = "CNI-";
constexpr uint64_t kMaxFile = 16u << 20;
/// Depth of the search: directories of pods and their containers are not deeper.
constexpr int kDepth = 7;
constexpr std::chrono::seconds kIptablesLimit{10};

/// Empty if unreadable.
std::string ReadText(const std::string& path) {
  return fs::RealFileSystem().Read(path, kMaxFile).value_or(std::string());
}

/// The pod network of a private containerd; empty if there is none.
struct PodNetwork {
  std::string name, bridge;
};

/// The first value of this key, in the file that deploy/local/runtime.sh writes.
std::string JsonTextOf(const std::string& json, const std::string& key) {
  const std::string before = fmt::format("\"{}\": \"", key);
  const auto found = json.find(before);
  if (found == std::string::npos) return {};
  const auto begin = found + before.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

PodNetwork NetworkOf(const std::string& containerd) {
  const std::string json = ReadText(containerd + "/cni/net.d/10-bridge.conflist");
  return {.name = JsonTextOf(json, "name"), .bridge = JsonTextOf(json, "bridge")};
}

void AddMounts(const std::vector<std::string>& tops, std::set<std::string>& resources) {
  const std::string table = ReadText(fs::kMountTable);
  for (const auto& top : tops)
    for (const auto& point : fs::MountPointsBelow(table, top))
      if (point != top) resources.insert("mount " + point);
}

/// Entries directly in a folder.
void AddEntries(const std::string& what, const std::string& folder,
                std::set<std::string>& resources) {
  std::error_code error;
  for (stdfs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    resources.insert(what + " " + it->path().filename().string());
}

/// Files at any depth whose names are addresses; other files belong to the plugin itself.
void AddAddresses(const std::string& what, const std::string& folder,
                  std::set<std::string>& resources) {
  fs::ForEachEntryBelow(folder, kDepth, [&](const stdfs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789.:abcdef") == std::string::npos &&
        name.find_first_of(".:") != std::string::npos)
      resources.insert(what + " " + name);
  });
}

/// Plugins name the network in the comment of each rule, and give each sandbox a chain.
std::vector<std::string> RulesOf(const std::string& network) {
  const auto all = process::RunProgram(
      {.argv = {"iptables-save", "-t", "nat"}, .env = {}, .input = {}, .limit = kIptablesLimit});
  if (!all.ok()) return {};
  std::vector<std::string> rules;
  std::istringstream lines(*all);
  std::string line;
  while (std::getline(lines, line))
    if (line.find(fmt::format(R"(name: \"{}\")", network)) != std::string::npos)
      rules.push_back(line);
  return rules;
}

void AddNetwork(const PodNetwork& network, std::set<std::string>& resources) {
  AddEntries("link", "/sys/class/net/" + network.bridge + "/brif", resources);
  for (const auto& rule : RulesOf(network.name)) resources.insert("iptables rule " + rule);
  std::set<std::string> results;
  AddEntries("result of libcni", kResults, results);
  for (const auto& result : results)
    if (result.find(" " + network.name + "-") != std::string::npos) resources.insert(result);
}

void AddRuntime(const std::string& containerd, std::set<std::string>& resources) {
  AddEntries("network namespace", containerd + kNamespaces, resources);
  AddEntries("container of runc", containerd + kRunc, resources);
  AddEntries("task", containerd + kTasks, resources);
  AddAddresses("address", containerd + "/cni/ipam", resources);
  for (const pid_t shim : process::PidsWith({"containerd-shim", containerd + "/containerd.sock"}))
    resources.insert(
        fmt::format("shim {} of {}", shim, RuntimeIdOf(process::ReadProcFile(shim, "cmdline"))));
  if (const PodNetwork network = NetworkOf(containerd); !network.name.empty())
    AddNetwork(network, resources);
}

/// UID in the name of a pod's cgroup: podUID, or kubepods-burstable-podUID.slice with _ for each -.
std::string UidOf(std::string name) {
  if (name.ends_with(".slice")) name.resize(name.size() - std::string_view(".slice").size());
  const auto pod = name.rfind("pod");
  if (pod == std::string::npos) return {};
  name.erase(0, pod + 3);
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

std::vector<std::string> CgroupsOf(const KnownPods& pods) {
  std::vector<std::string> groups;
  fs::ForEachEntryBelow("/sys/fs/cgroup", kDepth, [&](const stdfs::directory_entry& entry) {
    std::error_code gone;
    if (!entry.is_directory(gone)) return;
    const std::string name = entry.path().filename().string();
    if (pods.ids.contains(RuntimeIdOf(name)) || pods.uids.contains(UidOf(name)))
      groups.push_back(entry.path().string());
  });
  return groups;
}

void RemoveHostResource(const PodPlaces& places, const std::string& resource) {
  std::error_code error;
  const std::string id = RuntimeIdOf(resource);
  const auto after = [&resource](std::string_view kind) -> std::optional<std::string> {
    if (!resource.starts_with(kind)) return std::nullopt;
    return resource.substr(kind.size());
  };
  if (const auto shim = after("shim "))
    process::KillTrees({static_cast<pid_t>(std::strtol(shim->c_str(), nullptr, 10))});
  if (const auto mount = after("mount ")) umount2(mount->c_str(), MNT_DETACH);
  if (const auto group = after("cgroup ")) rmdir(group->c_str());
  if (after("container of runc ")) stdfs::remove_all(places.containerd + kRunc + "/" + id, error);
  if (const auto name = after("network namespace ")) {
    const std::string file = places.containerd + kNamespaces + "/" + *name;
    umount2(file.c_str(), MNT_DETACH);
    unlink(file.c_str());
  }
  if (after("task ")) {
    const std::string task = places.containerd + kTasks + "/" + id;
    umount2((task + "/rootfs").c_str(), MNT_DETACH);
    stdfs::remove_all(task, error);
  }
  if (const auto result = after("result of libcni "))
    unlink(fmt::format("{}/{}", kResults, *result).c_str());
}

Status DropNetworkRules(const std::string& containerd) {
  const std::string network = NetworkOf(containerd).name;
  if (network.empty()) return OkStatus();
  std::string deleted;
  std::set<std::string> chains;
  for (const auto& rule : RulesOf(network)) {
    deleted += "-D" + rule.substr(std::string_view("-A").size()) + "\n";
    const auto jump = rule.rfind(kJump);
    if (jump == std::string::npos) continue;
    const std::string chain = rule.substr(jump + kJump.size());
    if (chain.starts_with(kSandboxChain)) chains.insert(chain);
  }
  if (deleted.empty()) return OkStatus();
  std::string input = "*nat\n" + deleted;
  for (const auto& chain : chains) input += fmt::format("-F {0}\n-X {0}\n", chain);
  input += "COMMIT\n";
  return process::RunProgram({.argv = {"iptables-restore", "-w", "5", "--noflush"},
                              .env = {},
                              .input = input,
                              .limit = kIptablesLimit})
      .status();
}

std::set<std::string> HostResourcesOf(const PodPlaces& places, const KnownPods& pods) {
  std::set<std::string> resources;
  AddMounts(places.tops, resources);
  for (const auto& group : CgroupsOf(pods)) resources.insert("cgroup " + group);
  if (!places.state.empty()) {
    AddEntries("mark of a pod directory", places.state + "/pods", resources);
    AddEntries("record of pod-worker", places.state + "/pod-worker/pods", resources);
    AddEntries("record of config-source", places.state + "/config-source/pods", resources);
  }
  if (!places.root.empty()) AddEntries("pod directory", places.root + "/pods", resources);
  if (!places.logs.empty()) AddEntries("log directory", places.logs, resources);
  if (!places.run.empty()) AddEntries("admission", places.run + "/sync-loop/admission", resources);
  if (!places.containerd.empty()) AddRuntime(places.containerd, resources);
  return resources;
}

}  // namespace splitlet::operate
