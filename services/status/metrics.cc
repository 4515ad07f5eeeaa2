#include "services/status/metrics.h"

#include <array>

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

prometheus::Gauge& AddGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

std::string WaitingReason(const std::string& reason) {
  for (const char* known : kWaitingReasons)
    if (reason == known) return reason;
  return "Other";
}

NodeAtServerMetrics::NodeAtServerMetrics(prometheus::Registry& registry)
    : registered(AddGauge(registry, "splitlet_node_registered",
                          "1 once the API server has shown this node")),
      registrations(prometheus::BuildCounter()
                        .Name("splitlet_node_registrations_total")
                        .Help("Attempts to register this node at the API server")
                        .Register(registry)),
      reports(prometheus::BuildCounter()
                  .Name("splitlet_node_reports_total")
                  .Help("Rounds that report this node's status to the API server, by result")
                  .Register(registry)),
      renewals(prometheus::BuildCounter()
                   .Name("splitlet_node_lease_renewals_total")
                   .Help("Rounds that renew the lease of this node, by result")
                   .Register(registry)),
      renewed_at(AddGauge(registry, "splitlet_node_lease_renewed_timestamp_seconds",
                          "Time of the last renewal of this node's lease; 0: never")),
      startup(AddGauge(registry, "kubelet_node_startup_duration_seconds",
                       "Time from the boot of the machine until the node was Ready first")),
      before_process(AddGauge(registry, "kubelet_node_startup_pre_kubelet_duration_seconds",
                              "Time from the boot of the machine to the start of this process")),
      before_registration(
          AddGauge(registry, "kubelet_node_startup_pre_registration_duration_seconds",
                   "Time from the start of this process to the first attempt to register")),
      registration(AddGauge(registry, "kubelet_node_startup_registration_duration_seconds",
                            "Time from the first attempt to register to the successful one")),
      after_registration(AddGauge(registry,
                                  "kubelet_node_startup_post_registration_duration_seconds",
                                  "Time from the registration until the node was Ready first")) {
  for (const char* result : {"ok", "error"}) {
    registrations.Add({{"result", result}});
    renewals.Add({{"result", result}});
  }
  for (const char* result : {"sent", "unchanged", "error"}) reports.Add({{"result", result}});
}

StatusMetrics::StatusMetrics(prometheus::Registry& registry, const std::string& node)
    : node_name(prometheus::BuildGauge()
                    .Name("kubelet_node_name")
                    .Help("Name of the node; always 1")
                    .Register(registry)
                    .Add({{"node", node}})),
      node_ready(prometheus::BuildGauge()
                     .Name("splitlet_node_ready")
                     .Help("1 when the node's condition Ready is True")
                     .Register(registry)
                     .Add({})),
      unanswered(
          prometheus::BuildGauge()
              .Name("splitlet_process_unanswered_seconds")
              .Help("Time in which a process was asked for its health and gave no good answer")
              .Register(registry)),
      pods(prometheus::BuildGauge()
               .Name("splitlet_status_pods")
               .Help("Pods with a status, by phase")
               .Register(registry)),
      waiting(prometheus::BuildGauge()
                  .Name("splitlet_status_waiting_containers")
                  .Help("Containers that a status shows as waiting, by reason")
                  .Register(registry)),
      pending_resizes(prometheus::BuildGauge()
                          .Name("kubelet_pod_pending_resizes")
                          .Help("Pods with a resize that is pending")
                          .Register(registry)),
      infeasible_resizes(prometheus::BuildCounter()
                             .Name("kubelet_pod_infeasible_resizes_total")
                             .Help("Resizes of pods that were refused")
                             .Register(registry)),
      changes(prometheus::BuildCounter()
                  .Name("splitlet_status_changes_total")
                  .Help("Pod statuses that were published because they had changed")
                  .Register(registry)
                  .Add({})),
      put_errors(prometheus::BuildCounter()
                     .Name("splitlet_status_put_errors_total")
                     .Help("Pod statuses that could not be published")
                     .Register(registry)
                     .Add({})),
      terminated(prometheus::BuildCounter()
                     .Name("kubelet_terminated_containers_total")
                     .Help("Containers that a status shows as terminated for the first time")
                     .Register(registry)),
      pod_start(prometheus::BuildHistogram()
                    .Name("kubelet_pod_start_duration_seconds")
                    .Help("Time from the first sight of a pod to its phase Running")
                    .Register(registry)
                    .Add({}, kPodStartBuckets)),
      events(prometheus::BuildGauge()
                 .Name("splitlet_status_events")
                 .Help("Events in the store")
                 .Register(registry)
                 .Add({})),
      events_handled(prometheus::BuildCounter()
                         .Name("splitlet_status_events_handled_total")
                         .Help("Events that processes have recorded, by result")
                         .Register(registry)),
      node_at_server(registry) {
  for (const char* result : {"new", "counted", "spam", "displaced"})
    events_handled.Add({{"result", result}});
  for (const char* phase : {"Pending", "Running", "Succeeded", "Failed"})
    pods.Add({{"phase", phase}});
  for (const char* reason : kWaitingReasons) waiting.Add({{"reason", reason}});
}

}  // namespace splitlet::status
