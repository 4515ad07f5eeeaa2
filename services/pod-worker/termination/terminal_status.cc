#include "services/pod-worker/termination/terminal_status.h"

#include "services/pod-worker/pod/phase.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

std::shared_ptr<const v1::TerminalStatus> TerminalStatusOf(const EndedPod& ended) {
  auto status = std::make_shared<v1::TerminalStatus>();
  if (ended.before != nullptr) *status = *ended.before;
  *status->mutable_observation() = ended.last_seen;
  if (!status->phase().empty()) return status;
  if (ended.evicted || !ended.reason.empty()) {
    status->set_phase("Failed");
    status->set_reason(ended.reason);
    status->set_message(ended.message);
  } else if (ended.pod != nullptr) {
    auto present = cri::PresentIncarnation(ended.last_seen, ended.incarnation);
    cri::AddLost(*ended.pod, ended.begun, present);
    status->set_phase(PhaseAfterKill(*ended.pod, present));
  }
  return status;
}

}  // namespace splitlet::pod_worker
