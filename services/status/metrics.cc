#include "services/status/metrics.h"

#include <array>

#include "libs/daemon/metric_families.h"
#include "services/status/start_buckets.h"

namespace splitlet::status {
namespace {

/// The reasons of a kubelet. All reasons of a runtime count as "Other".
constexpr std::array<const char*, 11> kWaitingReasons = {"ContainerCreating",
                                                         "PodInitializing",
                                                         "CrashLoopBackOff",
                                                         "ImagePullBackOff",
                                                         "ErrImagePull",
                                                         "ErrImageNeverPull",
                                                         "InvalidImageName",
                                                         "CreateContainerConfigError",
                                                         "CreateContainerError",
                                                         "RunContainerError",
                                                         "Other"};

}  // namespace

std::string WaitingReason(const std::string& reason) {
  for (const char* known : kWaitingReasons)
    if (reason == known) return reason;
  return "Other";
}

NodeAtServerMetrics::NodeAtServerMetrics(prometheus::Registry& registry)
    : registered(daemon::AddGauge(registry, "splitlet_node_registered",
                                  "1 once the API server has shown this node")),
      registrations(daemon::AddCounters(registry, "splitlet_node_registrations_total",
                                        "Attempts to register this node at the API server")),
      reports(daemon::AddCounters(
          registry, "splitlet_node_reports_total",
          "Rounds that report this node's status to the API server, by result")),
      renewals(daemon::AddCounters(registry, "splitlet_node_lease_renewals_total",
                                   "Rounds that renew the lease of this node, by result")),
      renewed_at(daemon::AddGauge(registry, "splitlet_node_lease_renewed_timestamp_seconds",
                                  "Time of the last renewal of this node's lease; 0: never")),
      csi_rounds(daemon::AddCounters(registry, "splitlet_csi_node_rounds_total",
                                     "Rounds that write the CSINode and CSI drivers, by result")),
      csi_drivers(daemon::AddGauges(registry, "splitlet_csi_drivers",
                                    "CSI drivers that pod-worker reports, by state")),
      startup(daemon::AddGauge(registry, "kubelet_node_startup_duration_seconds",
                               "Time from the boot of the machine until the node was Ready first")),
      before_process(
          daemon::AddGauge(registry, "kubelet_node_startup_pre_kubelet_duration_seconds",
                           "Time from the boot of the machine to the start of this process")),
      before_registration(
          daemon::AddGauge(registry, "kubelet_node_startup_pre_registration_duration_seconds",
                           "Time from the start of this process to the first attempt to register")),
      registration(
          daemon::AddGauge(registry, "kubelet_node_startup_registration_duration_seconds",
                           "Time from the first attempt to register to the successful one")),
      after_registration(
          daemon::AddGauge(registry, "kubelet_node_startup_post_registration_duration_seconds",
                           "Time from the registration until the node was Ready first")) {
  for (const char* result : {"ok", "error"}) {
    registrations.Add({{"result", result}});
    renewals.Add({{"result", result}});
    csi_rounds.Add({{"result", result}});
  }
  for (const char* state : {"waiting", "written", "refused"}) csi_drivers.Add({{"state", state}});
  for (const char* result : {"sent", "unchanged", "error"}) reports.Add({{"result", result}});
}

StatusMetrics::StatusMetrics(prometheus::Registry& registry, const std::string& node)
    : node_name(daemon::AddGauges(registry, "kubelet_node_name", "Name of the node; always 1")
                    .Add({{"node", node}})),
      node_ready(daemon::AddGauge(registry, "splitlet_node_ready",
                                  "1 when the node's condition Ready is True")),
      unanswered(daemon::AddGauges(
          registry, "splitlet_process_unanswered_seconds",
          "Time in which a process was asked for its health and gave no good answer")),
      pods(daemon::AddGauges(registry, "splitlet_status_pods", "Pods with a status, by phase")),
      waiting(daemon::AddGauges(registry, "splitlet_status_waiting_containers",
                                "Containers that a status shows as waiting, by reason")),
      pending_resizes(daemon::AddGauges(registry, "kubelet_pod_pending_resizes",
                                        "Pods with a resize that is pending")),
      infeasible_resizes(daemon::AddCounters(registry, "kubelet_pod_infeasible_resizes_total",
                                             "Resizes of pods that were refused")),
      changes(daemon::AddCounter(registry, "splitlet_status_changes_total",
                                 "Pod statuses that were published because they had changed")),
      put_errors(daemon::AddCounter(registry, "splitlet_status_put_errors_total",
                                    "Pod statuses that could not be published")),
      terminated(
          daemon::AddCounters(registry, "kubelet_terminated_containers_total",
                              "Containers that a status shows as terminated for the first time")),
      pod_start(daemon::AddHistogram(registry, "kubelet_pod_start_duration_seconds",
                                     "Time from the first sight of a pod to its phase Running",
                                     kPodStartBuckets)),
      events(daemon::AddGauge(registry, "splitlet_status_events", "Events in the store")),
      events_handled(daemon::AddCounters(registry, "splitlet_status_events_handled_total",
                                         "Events that processes have recorded, by result")),
      node_at_server(registry) {
  for (const char* result : {"new", "counted", "spam", "displaced"})
    events_handled.Add({{"result", result}});
  for (const char* phase : {"Pending", "Running", "Succeeded", "Failed"})
    pods.Add({{"phase", phase}});
  for (const char* reason : kWaitingReasons) waiting.Add({{"reason", reason}});
}

}  // namespace splitlet::status
