#pragma once

/// Pods of the node as the processes' tables describe them, and how `get pods` shows them: columns
/// and words of kubectl. Threads: any. Errors: none. Units: wall times in ns. Source: kubectl's
/// columns of pods; sync-loop and status specs.

#include <memory>
#include <string>
#include <vector>

#include "ctl/text.h"
#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::v1 {
class AdmissionRecord;
class DesiredRecord;
class RuntimeRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::ctl {

/// All that is known of one pod; what a process did not tell is a null pointer.
struct PodView {
  std::string uid, name, name_space, source;
  std::shared_ptr<kube::Pod> pod;  // spec of `desired`, status of `podstatus`
  bool has_status = false;
  bool removed = false;  // its source has taken it away
  int64_t seen_at_wall_ns = 0;
  std::shared_ptr<v1::DesiredRecord> desired;
  std::shared_ptr<v1::AdmissionRecord> admission;
  std::shared_ptr<v1::WorkerRecord> worker;
  std::shared_ptr<v1::RuntimeRecord> runtime;
};

struct PodRow {
  int ready = 0, total = 0;
  std::string status;
  int64_t restarts = 0;
  int64_t last_restart_wall_ns = 0;  // 0: none
  std::string age, ip, node, nominated_node, readiness_gates;
};

PodRow MakePodRow(const PodView& view, WallTime now);
std::string RestartsText(const PodRow& row, WallTime now);  ///< "3 (5m ago)"

struct PodTableOptions {
  bool wide = false;
  bool namespaces = false;
  bool header = true;
  std::vector<size_t>* widths = nullptr;  // see Table::KeepWidths
};
std::string PodTable(const std::vector<PodView>& pods, WallTime now,
                     const PodTableOptions& options);

/// The Kubernetes object, and a list of them, as kubectl prints.
std::string PodJson(const PodView& view);
std::string PodYaml(const PodView& view);
std::string PodListJson(const std::vector<PodView>& pods);
std::string PodListYaml(const std::vector<PodView>& pods);

/// By name, namespace/name or UID.
bool IsNamed(const PodView& view, const std::string& name);
/// The one pod of this name. A pod that its source has taken away gives way to its successor.
/// NOT_FOUND without one, INVALID_ARGUMENT listing them when there are several.
StatusOr<PodView> PickPod(const std::vector<PodView>& pods, const std::string& name);

/// Nanoseconds since the epoch; 0 when the pod has no such time.
int64_t CreatedAt(const PodView& view);

}  // namespace splitlet::ctl
