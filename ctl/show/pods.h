#pragma once

/// Pods of the node as the processes' tables describe them, and how `get pods` shows them: columns
/// and words of kubectl.
/// Threads: any.
/// Errors: none.
/// Units: wall times in ns.
/// Source: kubectl's columns of pods.

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct PodRow {
  int ready = 0, total = 0;
  std::string status;
  int64_t restarts = 0;
  int64_t last_restart_wall_ns = 0;  // 0: no restart
  std::string age, ip, node, nominated_node, readiness_gates;
};

PodRow MakePodRow(const operate::PodView& view, WallTime now);
std::string RestartsText(const PodRow& row, WallTime now);  ///< "3 (5m ago)"

struct PodTableOptions {
  bool wide = false;
  bool namespaces = false;
  bool header = true;
  std::vector<size_t>* widths = nullptr;  // see Table::KeepWidths
};
std::string PodTable(const std::vector<operate::PodView>& pods, WallTime now,
                     const PodTableOptions& options);

/// The Kubernetes object, and a list of them, printed like kubectl's.
std::string PodJson(const operate::PodView& view);
std::string PodYaml(const operate::PodView& view);
std::string PodListJson(const std::vector<operate::PodView>& pods);
std::string PodListYaml(const std::vector<operate::PodView>& pods);

/// Selects by name, namespace/name or UID.
bool IsNamed(const operate::PodView& view, const std::string& name);
/// Finds the one pod of this name. A successor wins over a removed pod, and a wanted pod over
/// leftovers of an ended one. NOT_FOUND for no pod, INVALID_ARGUMENT with a list for several.
StatusOr<operate::PodView> PickPod(const std::vector<operate::PodView>& pods,
                                   const std::string& name);

/// Nanoseconds since the epoch; 0 when the pod has no such time.
int64_t CreatedAt(const operate::PodView& view);

}  // namespace splitlet::ctl
