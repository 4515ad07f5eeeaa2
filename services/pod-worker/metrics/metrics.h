#pragma once

/// All metrics of pod-worker; this file is the list.
/// Threads: any.
/// Errors:  none.
/// Units:   seconds.
/// Source:  docs/metrics.md.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

struct Metrics {
  explicit Metrics(prometheus::Registry& registry);

  prometheus::Family<prometheus::Histogram>& worker_duration;  // {operation_type}
  prometheus::Histogram& worker_start;
  prometheus::Histogram& containers_per_pod;
  prometheus::Counter& started_pods;
  prometheus::Counter& started_pods_errors;
  prometheus::Counter& started_user_pods;  // with users of their own
  prometheus::Counter& started_user_pods_errors;
  prometheus::Family<prometheus::Counter>& started_containers;         // {container_type}
  prometheus::Family<prometheus::Counter>& started_containers_errors;  // {container_type, code}
  prometheus::Family<prometheus::Histogram>& run_sandbox;              // {runtime_handler}
  prometheus::Family<prometheus::Counter>& run_sandbox_errors;         // {runtime_handler}
  prometheus::Family<prometheus::Histogram>& image_pull;               // {image_size_in_bytes}
  prometheus::Family<prometheus::Counter>& image_requests;             // {present_locally,
                                                                       // pull_policy,
                                                                       // pull_required}
  prometheus::Family<prometheus::Histogram>& plugin_duration;          // {plugin_name}
  prometheus::Family<prometheus::Counter>& plugin_errors;              // {plugin_name}
  prometheus::Family<prometheus::Counter>& probes;            // {probe_type, result, container,
                                                              // pod, namespace, pod_uid}
  prometheus::Family<prometheus::Histogram>& probe_duration;  // {probe_type, container, pod,
                                                              // namespace}
  prometheus::Family<prometheus::Gauge>& workers;             // {state}
  prometheus::Family<prometheus::Gauge>& working_pods;        // {lifecycle, config, static}
  prometheus::Gauge& late_unmounts;
  prometheus::Family<prometheus::Gauge>& total_volumes;          // {plugin_name, state}
  prometheus::Family<prometheus::Histogram>& storage_operation;  // {volume_plugin, operation_name,
                                                                 // status, migrated}
  prometheus::Family<prometheus::Histogram>& cgroup_operation;   // {operation_type}
  prometheus::Family<prometheus::Gauge>& cgroup_version;
  prometheus::Family<prometheus::Gauge>& losing_support;    // {version}
  prometheus::Family<prometheus::Counter>& grants_refused;  // {reason}
  prometheus::Counter& hook_http_fallbacks;
  prometheus::Counter& hook_sleeps_cut;

  static double Seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }
  void ObserveWorker(const std::string& operation, Duration duration);
  /// A sandbox about to be made, or that failed. `user_namespace`: its pod asks for one.
  void CountPod(bool user_namespace);
  void CountPodError(bool user_namespace);
  void CountImageRequest(const std::string& policy, const std::string& present,
                         const std::string& pull);
  void ObserveSandbox(const std::string& handler, Duration duration, bool good);
  void CountStart(const std::string& type);
  void CountStartError(const std::string& type, const std::string& code);
  /// Pods of one name share theirs; it goes with the last that was added. On the loop.
  prometheus::Histogram& AddProbeDuration(const prometheus::Labels& labels);
  void RemoveProbeDuration(prometheus::Histogram& histogram);
  /// `bytes`: of the image; 0: not known.
  void ObservePull(uint64_t bytes, Duration duration);
  /// `operation`: volume_mount, volume_unmount.
  void ObserveStorage(const std::string& plugin, const std::string& operation, Duration duration,
                      bool good);
  /// `operation`: create, update, destroy.
  void ObserveCgroup(const std::string& operation, Duration duration);
  void ObservePlugin(const std::string& name, Duration duration, bool good);

 private:
  std::map<prometheus::Histogram*, int> probe_durations_;  // how often each was added
};

}  // namespace splitlet::pod_worker
