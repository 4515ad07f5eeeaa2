#include "services/status/api/csi/csi_plan.h"

#include <algorithm>

#include "libs/base/text.h"

namespace splitlet::status {
namespace {

constexpr int kSilentFailures = 6;  // a kubelet names the error after six rounds
constexpr Duration kFirstRetryWait = std::chrono::milliseconds{200};
constexpr Duration kMaxRetryWait = std::chrono::seconds{10};

}  // namespace

std::string CsiNodeProblem(const CsiNodeKnown& known) {
  const bool is_known = !known.node_uid.empty();
  if (is_known && known.node_uid == known.initialised_for) return "";
  // The gate is for new nodes. Pods rely on a node that was Ready before this process started.
  if (is_known && known.node_uid == known.ready_at_start) return "";
  if (known.failures < kSilentFailures) return "CSINode is not yet initialized";
  return ToText(
      "failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the "
      "condition; caused by: " +
      Message(known.last_error));
}

Duration CsiRetryWait(Duration before) {
  return std::clamp<Duration>(before * 2, kFirstRetryWait, kMaxRetryWait);
}

}  // namespace splitlet::status
