// Invariants of the volumes of simulated pods, at any time and at rest.

#include <algorithm>
#include <set>

#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_sorts.h"
#include "tests/simulation/pod_truth.h"
#include "tests/simulation/volume_truth.h"

namespace splitlet::simulation {

void SimNode::WatchVolumes() {
  const auto pods = files_.List("/kubelet/pods");
  if (!pods.ok()) return;
  for (const auto& pod : *pods)
    for (const auto& volume : VolumesOf(files_, pod.name)) {
      if (!ShowsObjects(volume)) continue;
      const auto wrong = WrongSet(files_, kPodDirs + pod.name + "/volumes/" + volume);
      if (!wrong.empty()) Report(wrong);
    }
  for (const auto& container : runtime_->Containers()) {
    if (container.state != cri::ContainerState::kRunning) continue;
    const std::string uid = ValueOf(container.labels, kube::kPodUidLabel);
    const std::string name = ValueOf(container.labels, kube::kPodNameLabel);
    if (SortOf(name).claims && !IsLocalDiskBound(mounts_, uid))
      Report(fmt::format("{} runs without its local volume", name));
    if (SortOf(name).volumes && !IsInMemory(mounts_, uid))
      Report(fmt::format("{} runs without its volume in memory", name));
  }
}

void SimNode::CheckVolumesOf(const cri::Sandbox& sandbox, std::vector<std::string>& found) {
  std::vector<std::string> wanted;
  const bool of_api = IsWantedAtServer(sandbox.pod_uid);
  const bool claims = SortOf(sandbox.pod_name).claims;
  if (SortOf(sandbox.pod_name).volumes) {
    wanted = {"kubernetes.io~downward-api/about", "kubernetes.io~empty-dir/memory",
              "kubernetes.io~empty-dir/scratch"};
    if (of_api) wanted.insert(wanted.begin(), "kubernetes.io~configmap/settings");
    if (claims) wanted.push_back("kubernetes.io~local-volume/local");
    wanted.push_back("kubernetes.io~projected/all");
    if (of_api) wanted.push_back("kubernetes.io~secret/login");
    if (!IsInMemory(mounts_, sandbox.pod_uid))
      found.push_back(sandbox.pod_name + " has its volume in memory on the disk");
  }
  if (const size_t parts = PartsOf(mounts_, sandbox.pod_uid),
      due = wanted.empty() ? 0 : (of_api ? 2 : 1);
      parts != due)
    found.push_back(
        fmt::format("{} has {} parts of volumes mounted, not {}", sandbox.pod_name, parts, due));
  const auto there = VolumesOf(files_, sandbox.pod_uid);
  if (there != wanted)
    found.push_back(
        fmt::format("{} has the volumes [{}]", sandbox.pod_name, fmt::join(there, ", ")));
  if (claims && !IsLocalDiskBound(mounts_, sandbox.pod_uid))
    found.push_back(sandbox.pod_name + " has not its local volume");
  for (const auto& volume : there) {
    if (!ShowsObjects(volume)) continue;
    const std::string dir = kPodDirs + sandbox.pod_uid + "/volumes/" + volume;
    if (const auto wrong = LeftInVolume(files_, dir); !wrong.empty()) found.push_back(wrong);
    if (!of_api) continue;
    const auto shown = files_.Read(dir + "/a", 1 << 20);
    const std::string due = api_->ShownIn(sandbox.pod_uid, volume);
    if (!shown.ok() || *shown != due)
      found.push_back(fmt::format("{} of {} does not show {}", volume, sandbox.pod_name, due));
  }
}

void SimNode::CheckVolumes(std::vector<std::string>& found) {
  std::set<std::string> ready;
  for (const auto& sandbox : runtime_->Sandboxes()) {
    if (sandbox.state != cri::SandboxState::kReady) continue;
    ready.insert(sandbox.pod_uid);
    CheckVolumesOf(sandbox, found);
  }
  const auto pods = files_.List("/kubelet/pods");
  if (pods.ok())
    for (const auto& pod : *pods)
      if (!ready.contains(pod.name) && !VolumesOf(files_, pod.name).empty())
        found.push_back("the volumes of " + pod.name + " are left behind");
  for (const auto& disk : {kLocalDisk, kHostDisk})
    if (!files_.Read(disk + "/" + kKept, 1 << 20).ok())
      found.push_back("what was in " + disk + " is gone");
  for (const auto& [path, request] : mounts_.mounted())
    if (const auto uid = UidOfPath(path); !uid.empty() && !ready.contains(uid))
      found.push_back("a mount is left behind: " + path);
}

void SimNode::CheckTold(std::vector<std::string>& found) const {
  if (crashes_ > 0) return;
  for (const auto& uid : lacked_room_)
    if (!told_of_room_.contains(uid))
      found.push_back("nobody was told that there was no room for the volumes of " + uid);
}

}  // namespace splitlet::simulation
