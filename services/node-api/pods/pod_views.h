#pragma once

/// The pods of this node, from the records of config-source, status and pleg.
/// In:    views desired, podstatus, runtime.
/// Owns:  nothing.
/// Threads: loop thread only.
/// Errors: NOT_FOUND for a pod of another node.
/// Source: docs/behaviour/node-api.md, "Pods".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::node_api {

struct PodSeen {
  std::shared_ptr<const v1::DesiredRecord> desired;
  std::shared_ptr<const v1::PodStatusRecord> status;  // null: none yet
  std::shared_ptr<const v1::RuntimeRecord> runtime;   // null: none yet
};

class PodViews {
 public:
  struct Views {
    bus::View<v1::DesiredRecord> desired;
    bus::View<v1::PodStatusRecord> status;
    bus::View<v1::RuntimeRecord> runtime;
  };
  explicit PodViews(Views views) : views_(std::move(views)) {}

  /// All pods except removed ones and mirror pods.
  std::vector<PodSeen> All() const;
  StatusOr<PodSeen> Find(const std::string& name_space, const std::string& name) const;
  std::vector<std::shared_ptr<const v1::RuntimeRecord>> Runtime() const;
  /// Why the views are not complete; empty: they are complete.
  std::string problem() const;
  /// Calls `changed` after each change of the view `runtime`.
  void OnRuntime(std::function<void()> changed);

 private:
  PodSeen SeenOf(const std::shared_ptr<const v1::DesiredRecord>& desired) const;
  Views views_;
};

/// The pod with its status; on any thread. Null: its record is unreadable.
std::shared_ptr<kube::Pod> PodOf(const PodSeen& seen);

/// Id of the newest running container of this name; empty: none is running.
std::string RunningContainer(const PodSeen& seen, const std::string& name);
bool Runs(const v1::RuntimeRecord& record, const std::string& container_id);

}  // namespace splitlet::node_api
