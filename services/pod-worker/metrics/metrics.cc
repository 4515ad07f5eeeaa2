#include "services/pod-worker/metrics/metrics.h"

namespace splitlet::pod_worker {

namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets kDefault{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
const Buckets kStorage{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};
const Buckets kPull{1,   5,   10,  20,  30,  60,   120,  180,  240,
                    300, 360, 480, 600, 900, 1200, 1800, 2700, 3600};

auto& HistogramFamily(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}
auto& CounterFamily(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
auto& GaugeFamily(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

const char* SizeClass(uint64_t bytes) {
  constexpr uint64_t kMega = 1024 * 1024;
  if (bytes == 0) return "N/A";
  if (bytes < 10 * kMega) return "0-10MB";
  if (bytes < 100 * kMega) return "10MB-100MB";
  if (bytes < 500 * kMega) return "100MB-500MB";
  if (bytes < 1024 * kMega) return "500MB-1GB";
  if (bytes < 5 * 1024 * kMega) return "1GB-5GB";
  if (bytes < 10 * 1024 * kMega) return "5GB-10GB";
  if (bytes < 20 * 1024 * kMega) return "10GB-20GB";
  if (bytes < 30 * 1024 * kMega) return "20GB-30GB";
  if (bytes < 40 * 1024 * kMega) return "30GB-40GB";
  if (bytes < 60 * 1024 * kMega) return "40GB-60GB";
  return bytes < 100 * 1024 * kMega ? "60GB-100GB" : "GT100GB";
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : worker_duration(HistogramFamily(registry, "kubelet_pod_worker_duration_seconds",
                                      "One step of a pod's worker.")),
      worker_start(HistogramFamily(registry, "kubelet_pod_worker_start_duration_seconds",
                                   "From first seen to the first sync.")
                       .Add({}, kDefault)),
      containers_per_pod(
          HistogramFamily(registry, "kubelet_containers_per_pod_count", "Containers of each pod.")
              .Add({}, Buckets{1, 2, 4, 8, 16})),
      started_pods(
          CounterFamily(registry, "kubelet_started_pods_total", "Sandboxes about to be made.")
              .Add({})),
      started_pods_errors(
          CounterFamily(registry, "kubelet_started_pods_errors_total", "Sandboxes that failed.")
              .Add({})),
      started_user_pods(CounterFamily(registry, "kubelet_started_user_namespaced_pods_total",
                                      "Sandboxes with users of their own about to be made.")
                            .Add({})),
      started_user_pods_errors(CounterFamily(registry,
                                             "kubelet_started_user_namespaced_pods_errors_total",
                                             "Sandboxes with users of their own that failed.")
                                   .Add({})),
      started_containers(
          CounterFamily(registry, "kubelet_started_containers_total", "Starts tried.")),
      started_containers_errors(CounterFamily(registry, "kubelet_started_containers_errors_total",
                                              "Starts that failed.")),
      run_sandbox(
          HistogramFamily(registry, "kubelet_run_podsandbox_duration_seconds", "RunPodSandbox.")),
      run_sandbox_errors(CounterFamily(registry, "kubelet_run_podsandbox_errors_total",
                                       "RunPodSandbox that failed.")),
      image_pull(HistogramFamily(registry, "kubelet_image_pull_duration_seconds",
                                 "Successful pulls, waiting included.")),
      image_requests(CounterFamily(registry, "kubelet_image_manager_ensure_image_requests_total",
                                   "Images that containers asked for.")),
      plugin_duration(HistogramFamily(registry, "kubelet_credential_provider_plugin_duration",
                                      "Runs of credential provider plugins, in seconds.")),
      plugin_errors(CounterFamily(registry, "kubelet_credential_provider_plugin_errors_total",
                                  "Runs of credential provider plugins without an answer.")),
      probes(CounterFamily(registry, "prober_probe_total",
                           "Runs of probes that said something of their container.")),
      probe_duration(HistogramFamily(registry, "prober_probe_duration_seconds",
                                     "Runs of probes that succeeded.")),
      workers(GaugeFamily(registry, "splitlet_pod_workers", "Workers by state.")),
      working_pods(GaugeFamily(registry, "kubelet_working_pods",
                               "Pods that have a worker, by what it does and who wants them.")),
      late_unmounts(GaugeFamily(registry, "splitlet_pods_with_late_unmount",
                                "Pods that have ended and have volumes that hang.")
                        .Add({})),
      total_volumes(GaugeFamily(registry, "volume_manager_total_volumes",
                                "Volumes of pods, wanted and made.")),
      storage_operation(HistogramFamily(registry, "storage_operation_duration_seconds",
                                        "Volumes made, brought up to date or taken down.")),
      cgroup_operation(HistogramFamily(registry, "kubelet_cgroup_manager_duration_seconds",
                                       "Cgroups made, limited or taken down.")),
      cgroup_version(GaugeFamily(registry, "kubelet_cgroup_version",
                                 "Version of the cgroups that pods are in.")),
      losing_support(
          GaugeFamily(registry, "kubelet_cri_losing_support",
                      "1: the runtime lacks what that version of Kubernetes will need.")),
      grants_refused(CounterFamily(registry, "splitlet_grants_refused_total",
                                   "Grants that are not of the pod that is wanted.")),
      hook_http_fallbacks(CounterFamily(registry, "kubelet_lifecycle_handler_http_fallbacks_total",
                                        "Hooks by HTTPS that were answered in plain HTTP.")
                              .Add({})),
      hook_sleeps_cut(CounterFamily(registry, "kubelet_sleep_action_terminated_early_total",
                                    "Hooks whose sleep was cut.")
                          .Add({})) {}

void Metrics::ObserveWorker(const std::string& operation, Duration duration) {
  worker_duration.Add({{"operation_type", operation}}, kDefault).Observe(Seconds(duration));
}

void Metrics::CountPod(bool user_namespace) {
  started_pods.Increment();
  if (user_namespace) started_user_pods.Increment();
}

void Metrics::CountPodError(bool user_namespace) {
  started_pods_errors.Increment();
  if (user_namespace) started_user_pods_errors.Increment();
}

void Metrics::CountImageRequest(const std::string& policy, const std::string& present,
                                const std::string& pull) {
  image_requests
      .Add({{"pull_policy", policy}, {"present_locally", present}, {"pull_required", pull}})
      .Increment();
}

void Metrics::ObserveSandbox(const std::string& handler, Duration duration, bool good) {
  run_sandbox.Add({{"runtime_handler", handler}}, kDefault).Observe(Seconds(duration));
  if (!good) run_sandbox_errors.Add({{"runtime_handler", handler}}).Increment();
}

void Metrics::CountStart(const std::string& type) {
  started_containers.Add({{"container_type", type}}).Increment();
}

void Metrics::CountStartError(const std::string& type, const std::string& code) {
  started_containers_errors.Add({{"container_type", type}, {"code", code}}).Increment();
}

prometheus::Histogram& Metrics::AddProbeDuration(const prometheus::Labels& labels) {
  prometheus::Histogram& histogram = probe_duration.Add(labels, kDefault);
  ++probe_durations_[&histogram];
  return histogram;
}

void Metrics::RemoveProbeDuration(prometheus::Histogram& histogram) {
  if (--probe_durations_[&histogram] > 0) return;
  probe_durations_.erase(&histogram);
  probe_duration.Remove(&histogram);
}

void Metrics::ObserveStorage(const std::string& plugin, const std::string& operation,
                             Duration duration, bool good) {
  storage_operation
      .Add({{"volume_plugin", plugin},
            {"operation_name", operation},
            {"status", good ? "success" : "fail-unknown"},
            {"migrated", "false"}},
           kStorage)
      .Observe(Seconds(duration));
}

void Metrics::ObserveCgroup(const std::string& operation, Duration duration) {
  cgroup_operation.Add({{"operation_type", operation}}, kDefault).Observe(Seconds(duration));
}

void Metrics::ObservePlugin(const std::string& name, Duration duration, bool good) {
  plugin_duration.Add({{"plugin_name", name}}, kDefault).Observe(Seconds(duration));
  if (!good) plugin_errors.Add({{"plugin_name", name}}).Increment();
}

void Metrics::ObservePull(uint64_t bytes, Duration duration) {
  image_pull.Add({{"image_size_in_bytes", SizeClass(bytes)}}, kPull).Observe(Seconds(duration));
}

}  // namespace splitlet::pod_worker
