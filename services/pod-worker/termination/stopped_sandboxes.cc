#include "services/pod-worker/termination/stopped_sandboxes.h"

#include <utility>

namespace splitlet::pod_worker {

namespace {

/// Ids of gone sandboxes are forgotten when gc wants to remove something. So many only come
/// together without gc.
constexpr size_t kMostKept = 10'000;

}  // namespace

void StoppedSandboxes::OnBegun(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) ids_.erase(id);
}

void StoppedSandboxes::OnStopped(const std::vector<std::string>& ids) {
  if (ids_.size() >= kMostKept) ids_.clear();
  ids_.insert(ids.begin(), ids.end());
}

void StoppedSandboxes::KeepOnly(const std::vector<cri::Sandbox>& all) {
  std::set<std::string> kept;
  for (const auto& sandbox : all) {
    if (sandbox.state == cri::SandboxState::kReady) continue;
    if (auto known = ids_.extract(sandbox.id.str())) kept.insert(std::move(known));
  }
  ids_ = std::move(kept);
}

}  // namespace splitlet::pod_worker
