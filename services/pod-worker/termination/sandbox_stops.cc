#include "services/pod-worker/termination/sandbox_stops.h"

#include <utility>

#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

/// gc asks every minute, and what is gone is forgotten then. So many only come together without it.
constexpr size_t kMostKept = 10'000;

}  // namespace

Status SandboxStops::Stop(const v1::SandboxRecord& sandbox, const Deadline& deadline) {
  if (sandbox.state() != v1::SandboxRecord::READY && IsStopped(sandbox.id())) return OkStatus();
  RETURN_IF_ERROR(runner_.StopPodSandbox(cri::SandboxId(sandbox.id()), deadline), "StopPodSandbox");
  const std::lock_guard lock(mutex_);
  if (stopped_.size() >= kMostKept) stopped_.clear();
  stopped_.insert(sandbox.id());
  return OkStatus();
}

bool SandboxStops::IsStopped(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return stopped_.contains(id);
}

void SandboxStops::KeepOnly(const std::vector<cri::Sandbox>& all) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> kept;
  for (const auto& sandbox : all)
    if (auto known = stopped_.extract(sandbox.id.str())) kept.insert(std::move(known));
  stopped_ = std::move(kept);
}

}  // namespace splitlet::pod_worker
