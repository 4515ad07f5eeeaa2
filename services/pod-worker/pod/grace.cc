#include "services/pod-worker/pod/grace.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

int64_t EffectiveGrace(const GraceQuestion& question) {
  std::optional<int64_t> grace = question.left_seconds;
  for (const auto& offer : {question.deletion_seconds, question.asked_seconds})
    if (offer && (!grace || *offer < *grace)) grace = offer;
  if (!grace) grace = question.spec_seconds;
  return std::clamp<int64_t>(grace.value_or(kMinGrace), 1, kMaxGrace);
}

int64_t StopSeconds(Clock::Time deadline, Clock::Time now, bool again) {
  const Duration left = deadline - now;
  return std::max<int64_t>(std::chrono::ceil<std::chrono::seconds>(left).count(),
                           again ? 0 : kMinGrace);
}

int64_t RestartGrace(const kube::Pod& pod) {
  if (pod.metadata().has_deletion_grace_period_seconds())
    return std::clamp(pod.metadata().deletion_grace_period_seconds(), kMinGrace, kMaxGrace);
  if (!pod.spec().has_termination_grace_period_seconds()) return kMinGrace;
  return std::clamp(pod.spec().termination_grace_period_seconds(), kMinGrace, kMaxGrace);
}

}  // namespace splitlet::pod_worker
