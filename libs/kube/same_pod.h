#pragma once

/// Whether two pods mean the same, and the resources that one pod takes from another.
/// Threads: pure, any.
/// Errors:  none; a text that is no amount is compared as text.
/// Source:  docs/behaviour/resources.md; Kubernetes API conventions, quantities.

#include "libs/kube/pod_types.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::kube {

/// Writes every amount below `message` in one form: "1000m" becomes "1", "1Ki" becomes "1024".
/// Pods have no amounts finer than a thousandth.
void CanonicalizeQuantities(google::protobuf::Message& message);

/// The same pod but for the written form of amounts and the order of maps.
bool IsSamePod(const Pod& a, const Pod& b);

/// Gives `to` the resources of the containers of the same name in `from`, and of the whole pod if
/// `from` has them. A container that `from` lacks keeps its own.
void CopyResources(const Pod& from, Pod& to);

}  // namespace splitlet::kube
