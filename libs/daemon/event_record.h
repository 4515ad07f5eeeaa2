#pragma once

/// The form in which every process sends Kubernetes events to status: one component, and one form
/// for events of the node.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/status.md; kubelet EventRecorder. Events of the node are in namespace
///          default; the UID of their object is the node's name.

#include <string>

#include "libs/daemon/service.h"

namespace splitlet::v1 {
class EventRecord;
}

namespace splitlet::daemon {

/// The container that an event is about, as a reference into the pod; empty: the whole pod.
std::string FieldPathOf(const PodEvent& event);

struct NodeEventText {
  std::string reason, message;
  bool warning = false;
};
PodEvent NodeEvent(const std::string& node_name, NodeEventText text);

/// The record that status keeps.
v1::EventRecord RecordOf(const PodEvent& event);

}  // namespace splitlet::daemon
