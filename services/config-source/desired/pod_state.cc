#include "services/config-source/desired/pod_state.h"

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

PodState Next(PodState state, PodEvent event) {
  using enum PodState;
  const bool delivered = event == PodEvent::kDelivered;
  switch (state) {
    case kWanted:
    case kUnconfirmed: return delivered ? kWanted : kRemoved;
    case kRemoved: return kRemoved;  // a source that wants it again adds another incarnation
    case kMirror: return kMirror;
  }
  UNREACHABLE();
}

PodState StateAfterStart(PodState saved, std::string_view source, bool this_boot) {
  if (saved == PodState::kRemoved) return PodState::kRemoved;
  const bool waits = saved == PodState::kUnconfirmed || !this_boot;
  return source == kube::kApiSource && waits ? PodState::kUnconfirmed : PodState::kWanted;
}

}  // namespace splitlet::config_source
