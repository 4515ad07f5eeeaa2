// A simulated machine shuts down, and boots again.

#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_sorts.h"
#include "tests/simulation/pod_truth.h"
#include "tests/simulation/shell.h"

namespace splitlet::simulation {
namespace {

/// The grace period of every pod here, the rest after a hook that takes all of it, and the delays
/// to both.
constexpr Duration kMostOfOnePod = 5s + 2s + 2s;

}  // namespace

void SimNode::EndPodsWithIt() {
  shutdown_groups_ = gc::SortedGroups({{.priority = 0, .seconds = 20},
                                       {.priority = 1000, .seconds = 15},
                                       {.priority = 2'000'000'000, .seconds = 10}});
  machine_.max_delay = std::chrono::seconds{gc::TotalSeconds(shutdown_groups_)};
}

std::set<std::string> SimNode::RunningPods() const {
  std::set<std::string> pods;
  for (const auto& container : runtime_->Containers())
    if (container.state == cri::ContainerState::kRunning)
      pods.insert(ValueOf(container.labels, kube::kPodUidLabel));
  return pods;
}

void SimNode::OnAskedToEnd(const std::string& uid) {
  const auto wrong = ends_.OnAsked(clock_.Now(), uid, RunningPods());
  if (!wrong.empty()) Report(wrong);
}

void SimNode::WatchEnds() {
  const auto wrong = ends_.Overdue(clock_.Now(), kMostOfOnePod, RunningPods());
  if (!wrong.empty()) Report(wrong);
}

void SimNode::GoDown(const FaultPlan& plan) {
  std::map<std::string, size_t> up;
  const auto running = RunningPods();
  for (const auto& sandbox : runtime_->Sandboxes())
    if (running.contains(sandbox.pod_uid))
      up[sandbox.pod_uid] = gc::GroupOf(shutdown_groups_, SortOf(sandbox.pod_name).priority);
  ends_.Begin(clock_.Now(), shutdown_groups_, std::move(up));
  machine_.Say(true);
  watch_ends_ = !plan.crash_processes;
  RunFor(1min, plan);
  watch_ends_ = false;
  for (auto& [name, wanted] : wanted_) {
    wanted.touched = true;
    wanted.down = wanted.kind == Wanted::Kind::kOnce;
  }
  if (api_ != nullptr) api_->NoteEnds();
}

void SimNode::Reboot() {
  WatchRuns();
  for (auto& [name, process] : running_) {
    scheduler_.Drop(process->shell().owner);
    process->shell().bus.Leave();
    graveyard_.push_back(std::move(process));
  }
  running_.clear();
  graveyard_.clear();
  scheduler_.Reboot();
  network_.SetUp(false);
  clock_.SetBoot(clock_.Now().boot + 1);
  runtime_->Reboot();
  while (!mounts_.mounted().empty())
    CHECK(mounts_.Unmount(std::string(mounts_.mounted().begin()->first)).ok());
  while (!kernel_.Dirs().empty()) kernel_.Drop(kernel_.Dirs().front());
  CHECK(files_.RemoveTree("/run").ok());
  if (api_ != nullptr)
    CHECK(files_
              .Replace("/proc/sys/kernel/random/boot_id",
                       fmt::format("boot-{}\n", clock_.Now().boot), {})
              .ok());
  machine_ = {};
  EndPodsWithIt();
  network_.SetUp(true);
  WatchStatus();
  StartAll();
}

}  // namespace splitlet::simulation
