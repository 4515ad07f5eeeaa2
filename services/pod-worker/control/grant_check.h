#pragma once

/// Whether a grant may be taken: only for the pod that config-source wants, in the same
/// incarnation, with the resources that it asks for or was granted before.
/// Threads: pure functions, any.
/// Errors:  as GrantAnswer says.
/// Source:  docs/safety.md, rule 14.

#include "libs/base/status.h"
#include "libs/kube/pod_bytes.h"

namespace splitlet::v1 {
class DesiredRecord;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

struct GrantAnswer {
  enum class Kind {
    kTake,
    kAsk,        // the record is none, or older than the grant: config-source may have a newer one
    kRefuse,     // the grant is of another incarnation or generation: sync-loop sees so soon
    kUnmanaged,  // not the pod that config-source wants: it must not start
    kUnsafe,     // the pod that config-source wants, and running it would harm the node
  };
  Kind kind = Kind::kTake;
  Status why = {};  // not OK unless kTake
  /// The granted pod of kTake, with status and version of `desired`. The pod that config-source
  /// wants of kUnmanaged and kUnsafe; an empty one if the record has none.
  kube::ParsedPod pod = {};
};
/// `asked`: the pod of the request. `record`: the record of the UID in `desired`; nullptr: none.
/// `granted`: the pod as it is granted in this incarnation; empty: it is not.
GrantAnswer CheckGrant(const v1::UpdatePodRequest& request, const kube::ParsedPod& asked,
                       const v1::DesiredRecord* record, const kube::PodBytes& granted);

/// Is `asked` the pod `wanted`, its status and its version at the server aside? Its resources are
/// those of `wanted`, or of `granted` while a resize is wanted that this node has not made. Where
/// nothing is granted yet they may differ only if the pod may have been changed since it was
/// admitted: by the count of an API server, or in a manifest that names its UID. The written form
/// of an amount does not count. `granted` may be empty.
bool IsWantedPod(const kube::Pod& asked, const kube::Pod& wanted, const kube::PodBytes& granted);

}  // namespace splitlet::pod_worker
