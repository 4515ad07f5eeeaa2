// Invariants of a simulated node, after every step and at rest.

#include <algorithm>
#include <map>
#include <set>

#include "libs/cgroup/names.h"
#include "libs/cri/labels.h"
#include "libs/fs/path.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_sorts.h"

namespace splitlet::simulation {
namespace {

bool IsOf(const std::string& pod_name, const std::string& name) {
  return pod_name.starts_with(name + "-");
}

}  // namespace

void SimNode::CheckStep() {
  for (const auto& violation : runtime_->Violations()) Report(violation);
}

void SimNode::CheckPod(const std::string& name, const Wanted& wanted,
                       std::vector<std::string>& found) const {
  int ready = 0;
  int running = 0;
  int succeeded = 0;
  uint32_t attempt = 0;
  for (const auto& sandbox : runtime_->Sandboxes())
    if (IsOf(sandbox.pod_name, name) && sandbox.state == cri::SandboxState::kReady) ++ready;
  for (const auto& container : runtime_->Containers()) {
    if (!IsOf(cri::LabelOf(container.labels, "io.kubernetes.pod.name"), name)) continue;
    if (container.state == cri::ContainerState::kRunning) ++running;
    if (container.state == cri::ContainerState::kExited && container.exit_code == 0) ++succeeded;
    attempt = std::max(attempt, container.attempt);
  }
  if (IsEvicted(name)) {
    if (ready != 0 || running != 0)
      found.push_back(
          fmt::format("{} was evicted and has {} ready sandboxes and {} running "
                      "containers",
                      name, ready, running));
    return;
  }
  switch (wanted.kind) {
    case Wanted::Kind::kSteady:
      if (ready != 1 || running != 1)
        found.push_back(fmt::format("{} has {} ready sandboxes and {} running containers", name,
                                    ready, running));
      if (!wanted.touched && attempt != 0)
        found.push_back(fmt::format("{} is at attempt {} and never ended", name, attempt));
      return;
    case Wanted::Kind::kCrashing:
      if (ready != 1 || running > 1)
        found.push_back(fmt::format("{} has {} ready sandboxes and {} running containers", name,
                                    ready, running));
      return;
    case Wanted::Kind::kOnce:
    case Wanted::Kind::kJob:
      if (running != 0) found.push_back(fmt::format("the job {} still runs", name));
      return;
  }
}

void SimNode::CheckLimits(const cri::Sandbox& sandbox, const std::string& dir,
                          std::vector<std::string>& found) {
  const bool limited = SortOf(sandbox.pod_name).limits;
  // limits: {cpu: 500m, memory: 128Mi}, requests: {cpu: 250m}; the weight is that of 256 shares.
  const struct {
    const char *file, *want;
  } kValues[] = {{"memory.max", limited ? "134217728" : "max"},
                 {"cpu.max", limited ? "50000 100000" : "max"},
                 {"cpu.weight", limited ? "10" : nullptr},
                 {"pids.max", "64"}};
  for (const auto& [file, want] : kValues) {
    const auto value = kernel_.Read(dir + "/" + file);
    // Empty: never written, so the kernel's initial value.
    std::string text = value.ok() ? value->substr(0, value->find('\n')) : "missing";
    if (text.empty()) text = "max";
    if (want != nullptr && !text.starts_with(want))
      found.push_back(fmt::format("{} of {} is {}, not {}", file, sandbox.pod_name, text, want));
  }
}

void SimNode::CheckCgroups(std::vector<std::string>& found) {
  std::map<std::string, std::string> placed;
  std::set<std::string> ready;
  for (const auto& dir : kernel_.Dirs())
    if (const auto uid = cgroup::PodUidOf(fs::NameOf(dir))) placed[*uid] = dir;
  for (const auto& sandbox : runtime_->Sandboxes())
    if (sandbox.state == cri::SandboxState::kReady) {
      ready.insert(sandbox.pod_uid);
      if (const auto dir = placed.find(sandbox.pod_uid); dir != placed.end())
        CheckLimits(sandbox, dir->second, found);
    }
  for (const auto& [uid, dir] : placed)
    if (!ready.contains(uid)) found.push_back("the cgroup of " + uid + " is left behind");
  for (const auto& uid : ready)
    if (!placed.contains(uid)) found.push_back("the pod " + uid + " has lost its cgroup");
}

std::vector<std::string> SimNode::Violations() {
  std::vector<std::string> found = violations_;
  for (const auto& line : UnexplainedErrors())
    found.push_back("an error in a log that no fault explains: " + line);
  for (const auto& [name, wanted] : wanted_) CheckPod(name, wanted, found);
  const auto is_wanted = [this](const std::string& pod, const std::string& uid) {
    return IsWantedAtServer(uid) || std::ranges::any_of(wanted_, [&pod](const auto& entry) {
             return IsOf(pod, entry.first);
           });
  };
  for (const auto& container : runtime_->Containers()) {
    const std::string pod = cri::LabelOf(container.labels, "io.kubernetes.pod.name");
    if (container.state == cri::ContainerState::kRunning &&
        !is_wanted(pod, cri::LabelOf(container.labels, "io.kubernetes.pod.uid")))
      found.push_back(fmt::format("{}/{} runs and nobody wants it", pod, container.name));
  }
  for (const auto& sandbox : runtime_->Sandboxes())
    if (sandbox.state == cri::SandboxState::kReady && !is_wanted(sandbox.pod_name, sandbox.pod_uid))
      found.push_back(
          fmt::format("the sandbox of {} is ready and nobody wants it", sandbox.pod_name));
  CheckCgroups(found);
  CheckVolumes(found);
  CheckTold(found);
  CheckPressure(found);
  if (!found.empty())
    return found;  // otherwise compare the tables, which would report the same
                   // and more
  return CheckTables();
}

std::vector<std::string> SimNode::ViolationsAtTheEnd() const {
  std::vector<std::string> found = violations_;
  for (const auto& line : UnexplainedErrors())
    found.push_back("an error in a log that no fault explains: " + line);
  for (const auto& container : runtime_->Containers())
    if (container.state == cri::ContainerState::kRunning)
      found.push_back(fmt::format("{}/{} still runs",
                                  cri::LabelOf(container.labels, "io.kubernetes.pod.name"),
                                  container.name));
  for (const auto& sandbox : runtime_->Sandboxes())
    if (sandbox.state == cri::SandboxState::kReady)
      found.push_back(fmt::format("the sandbox of {} is still ready", sandbox.pod_name));
  return found;
}

std::string SimNode::Describe() const {
  std::string text;
  for (const auto& [name, wanted] : wanted_)
    text += fmt::format("wanted: {} version {}\n", name, wanted.version);
  if (api_ != nullptr)
    for (const auto& pod : api_->Pods())
      text += fmt::format("at the server: {} {} {}{}\n", pod.metadata().name(),
                          pod.metadata().uid(), pod.status().phase(),
                          pod.metadata().has_deletion_timestamp() ? " asked to go" : "");
  for (const auto& sandbox : runtime_->Sandboxes())
    text += fmt::format("sandbox {} #{} {}\n", sandbox.pod_name, sandbox.attempt,
                        sandbox.state == cri::SandboxState::kReady ? "ready" : "not ready");
  for (const auto& c : runtime_->Containers())
    text += fmt::format("container {}/{} #{} state {} code {}\n",
                        cri::LabelOf(c.labels, "io.kubernetes.pod.name"), c.name, c.attempt,
                        static_cast<int>(c.state), c.exit_code);
  return text;
}

}  // namespace splitlet::simulation
