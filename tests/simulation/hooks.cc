// Commands in simulated containers. Checks that each hook starts once for a container, and records
// containers stopped without their preStop.

#include "libs/base/cancel.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {
namespace {

constexpr const char* kPostStart = "post-start";
constexpr const char* kPreStop = "pre-stop";

}  // namespace

void SimNode::OnCommand(const cri::ContainerId& id, const std::string& command) {
  const bool again = !hooks_begun_.insert(id.str() + " " + command).second;
  if (again) Report(fmt::format("{} of container {} begins again", command, id.str()));
  ++(command == kPreStop ? hook_counts_.pre_stops : hook_counts_.post_starts);
}

StatusOr<cri::ExecResult> SimNode::Exec(const cri::ContainerId& id,
                                        const std::vector<std::string>& words,
                                        const Deadline& deadline) {
  const std::string& hook = words.at(0);
  const bool hangs = hook == kPreStop && Chance(0.1);
  const auto ends = clock_.Now() + Duration{1ms} * static_cast<int64_t>(random_.Below(3000));
  scheduler_.WaitInStep(hangs || ends > deadline.at ? deadline.at : ends, [&deadline] {
    return deadline.cancel != nullptr && deadline.cancel->cancelled();
  });
  auto result = clock_.Now() < deadline.at
                    ? runtime_->ExecSync(id, {words}, deadline)
                    : StatusOr<cri::ExecResult>(DeadlineExceeded("{} takes too long", hook));
  if (result.ok() || hook != kPostStart) return result;
  // The container is replaced.
  for (const auto& container : runtime_->Containers()) {
    if (container.id != id) continue;
    const std::string& pod = container.labels.at("io.kubernetes.pod.name");
    for (auto& [name, wanted] : wanted_)
      if (pod.starts_with(name + "-")) wanted.touched = true;
    if (api_ != nullptr) api_->NoteReplaced(container.labels.at("io.kubernetes.pod.uid"));
  }
  return result;
}

void SimNode::OnStop(const cri::ContainerId& id) {
  if (hooks_begun_.contains(fmt::format("{} {}", id.str(), kPreStop))) return;
  for (const auto& container : runtime_->Containers())
    if (container.id == id && container.name == "steady" &&
        container.state == cri::ContainerState::kRunning)
      ++hook_counts_.stopped_without;
}

}  // namespace splitlet::simulation
