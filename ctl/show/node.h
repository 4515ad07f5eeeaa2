#pragma once

/// The node as the API would show it: the record that `status` keeps of it, properties of this
/// machine, and its pods. Columns and words of kubectl.
/// Threads: any.
/// Errors: none.
/// Source: kubectl's columns of nodes and its description of one; Kubernetes API, Node.

#include <memory>
#include <string>
#include <vector>

#include "ctl/show/events.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "libs/node/system_info.h"
#include "libs/operate/pod_view.h"

namespace splitlet::v1 {
class NodeRecord;
}

namespace splitlet::ctl {

/// Properties that the record lacks; an unknown one is empty.
struct NodeFacts {
  node::SystemInfo system;
  std::string architecture;
  std::string runtime_version;  // "containerd://1.6.20"
};
std::shared_ptr<kube::Node> MakeNode(const v1::NodeRecord& record, const NodeFacts& facts);

struct NodeTableOptions {
  bool wide = false;
  bool header = true;
};
std::string NodeTable(const kube::Node& node, WallTime now, const NodeTableOptions& options);

std::string DescribeNode(const kube::Node& node, const std::vector<operate::PodView>& pods,
                         const EventList& events, WallTime now);

}  // namespace splitlet::ctl
