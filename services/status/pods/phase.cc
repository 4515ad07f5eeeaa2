#include "services/status/pods/phase.h"

#include "libs/kube/restart_policy.h"

namespace splitlet::status {
namespace {

struct Counts {
  int pending_init = 0, failed_init = 0, pending_sidecar = 0;
  int running = 0, waiting = 0, stopped = 0, succeeded = 0, restartable = 0, unknown = 0;
};

void CountInit(const kube::Pod& pod, const kube::Container& container,
               const kube::ContainerStatus& status, Counts& counts) {
  const auto* end = EndOf(status);
  if (end == nullptr) {
    ++counts.pending_init;
  } else if (end->exit_code() != 0) {
    if (!kube::RestartsAfterExit(pod, container, end->exit_code())) ++counts.failed_init;
  }
}

void CountSidecar(const kube::ContainerStatus& status, Counts& counts) {
  if (status.state().has_running()) {
    ++counts.running;
    if (!status.started()) ++counts.pending_sidecar;
  } else if (EndOf(status) == nullptr) {
    ++counts.pending_sidecar;
    ++(status.state().has_waiting() ? counts.waiting : counts.unknown);
  }
}

void CountRegular(const kube::Pod& pod, const kube::Container& container,
                  const kube::ContainerStatus& status, Counts& counts) {
  if (status.state().has_running()) {
    ++counts.running;
  } else if (const auto* end = EndOf(status)) {
    ++counts.stopped;
    if (status.state().has_terminated() && end->exit_code() == 0) ++counts.succeeded;
    if (kube::RestartsAfterExit(pod, container, end->exit_code())) ++counts.restartable;
  } else {
    ++(status.state().has_waiting() ? counts.waiting : counts.unknown);
  }
}

Counts Count(const PhaseInputs& in) {
  Counts counts;
  for (const auto& container : in.pod.spec().init_containers()) {
    const auto* status = FindByName(in.containers.init, container.name());
    const bool sidecar = kube::IsSidecar(container);
    if (status == nullptr) {
      ++(sidecar ? counts.unknown : counts.pending_init);
    } else if (sidecar) {
      CountSidecar(*status, counts);
    } else {
      CountInit(in.pod, container, *status, counts);
    }
  }
  for (const auto& container : in.pod.spec().containers()) {
    const auto* status = FindByName(in.containers.regular, container.name());
    if (status == nullptr) {
      ++counts.unknown;
    } else {
      CountRegular(in.pod, container, *status, counts);
    }
  }
  return counts;
}

}  // namespace

std::string_view ComputePhase(const PhaseInputs& in) {
  const Counts n = Count(in);
  if (n.failed_init > 0) return kFailed;
  if (n.pending_init > 0 || (n.pending_sidecar > 0 && !in.initialized) || n.waiting > 0)
    return kPending;
  if (n.running > 0 && n.unknown == 0) return kRunning;
  if (n.running > 0 || n.stopped == 0 || n.unknown > 0) return kPending;
  const bool all_good = n.stopped == n.succeeded;
  if (in.terminal && !kube::IsStatic(in.pod)) return all_good ? kSucceeded : kFailed;
  if (n.restartable > 0) return kRunning;
  return all_good ? kSucceeded : kFailed;
}

}  // namespace splitlet::status
