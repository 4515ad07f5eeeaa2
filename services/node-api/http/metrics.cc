#include "services/node-api/http/metrics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "libs/kube/kubelet_version.h"
#include "libs/node/machine.h"

namespace splitlet::node_api {
namespace {

constexpr auto kMethods = std::to_array<std::string_view>(
    {"OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"});
constexpr auto kPaths = std::to_array<std::string_view>({"attach",
                                                         "checkpoint",
                                                         "configz",
                                                         "containerLogs",
                                                         "debug",
                                                         "exec",
                                                         "flagz",
                                                         "healthz",
                                                         "logs",
                                                         "metrics",
                                                         "metrics/cadvisor",
                                                         "metrics/probes",
                                                         "metrics/resource",
                                                         "metrics/slis",
                                                         "pods",
                                                         "portForward",
                                                         "run",
                                                         "runningpods",
                                                         "stats",
                                                         "statusz"});

// Source: kubelet BuildAuth, whose metrics are those of the API machinery.
const prometheus::Histogram::BucketBoundaries kReviewBuckets{0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};

prometheus::Family<prometheus::Counter>& Counter(prometheus::Registry& registry, const char* name,
                                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& Histogram(prometheus::Registry& registry,
                                                     const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& Gauge(prometheus::Registry& registry, const char* name,
                                             const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

/// Shortens "/metrics/cadvisor/x" to "metrics/cadvisor", "/pods" to "pods".
std::string BucketOf(const std::string& path) {
  const auto second = path.find('/', 1);
  std::string bucket = path.substr(path.empty() ? 0 : 1, second - 1);
  if (bucket == "metrics" && second != std::string::npos)
    bucket = path.substr(1, path.find('/', second + 1) - 1);
  return std::ranges::find(kPaths, bucket) == kPaths.end() ? "other" : bucket;
}

/// `version`: "v1.36.0". A kubelet's labels about Git and Go are left out.
prometheus::Labels BuildLabels(std::string_view version) {
  const size_t first = version.find('.'), second = version.find('.', first + 1);
  return {{"git_version", std::string(version)},
          {"major", std::string(version.substr(1, first - 1))},
          {"minor", std::string(version.substr(first + 1, second - first - 1))},
          {"platform", "linux/" + std::string(node::Architecture())}};
}

}  // namespace

ReviewMetrics::ReviewMetrics(prometheus::Registry& registry)
    : tokens{Counter(registry, "apiserver_delegated_authn_request_total",
                     "TokenReviews sent to the API server, by code of the answer"),
             Histogram(registry, "apiserver_delegated_authn_request_duration_seconds",
                       "Seconds until the API server answered a TokenReview")},
      rights{Counter(registry, "apiserver_delegated_authz_request_total",
                     "SubjectAccessReviews sent to the API server, by code of the answer"),
             Histogram(registry, "apiserver_delegated_authz_request_duration_seconds",
                       "Seconds until the API server answered a SubjectAccessReview")} {}

void ReviewMetrics::Kind::Count(int code, double took) {
  const prometheus::Labels labels{{"code", code == 0 ? "<error>" : std::to_string(code)}};
  requests.Add(labels).Increment();
  seconds.Add(labels, kReviewBuckets).Observe(took);
}

NodeApiMetrics::NodeApiMetrics(prometheus::Registry& registry)
    : requests(Counter(registry, "kubelet_http_requests_total", "Requests of the kubelet API")),
      request_seconds(Histogram(registry, "kubelet_http_requests_duration_seconds",
                                "Seconds until a request of the kubelet API was answered")),
      inflight(Gauge(registry, "kubelet_http_inflight_requests",
                     "Requests of the kubelet API in progress")),
      refused(Counter(registry, "splitlet_node_api_refused_total",
                      "Requests that node-api refused, by reason")),
      connections(Gauge(registry, "splitlet_node_api_connections", "Open connections, by server")),
      displaced(Gauge(registry, "splitlet_node_api_displaced_connections",
                      "Connections that node-api closed at its limit to accept others, by server")),
      has_certificate(Gauge(registry, "splitlet_node_api_has_certificate",
                            "1 if node-api has a serving certificate, else 0")
                          .Add({})),
      build_info(Gauge(registry, "kubernetes_build_info",
                       "Always 1; labels: version of the kubelet whose behaviour this node has")
                     .Add(BuildLabels(kube::kKubeletVersion))),
      features(Gauge(registry, "kubernetes_feature_enabled",
                     "1 for a feature gate that is on and implemented here, else 0")) {
  build_info.Set(1);
}

void NodeApiMetrics::ShowGates(const config::FeatureGates& gates) {
  for (const config::FeatureGate& gate : config::KnownGates())
    features
        .Add({{"name", std::string(gate.name)},
              {"stage", std::string(config::StageName(gate.stage))}})
        .Set(gates.DoneHere(gate) ? 1 : 0);
}

prometheus::Labels RequestLabels::Get() const {
  return {{"method", method},
          {"path", path},
          {"server_type", server_type},
          {"long_running", long_running}};
}

RequestLabels LabelsOf(const std::string& method, const std::string& path, bool read_only) {
  const std::string bucket = BucketOf(path);
  // Port forwarding counts as not long-running, as in a kubelet.
  const bool lasts = bucket == "exec" || bucket == "attach" || bucket == "debug";
  return {.method = std::ranges::find(kMethods, method) == kMethods.end() ? "other" : method,
          .path = bucket,
          .server_type = read_only ? "readonly" : "readwrite",
          .long_running = lasts ? "true" : "false"};
}

}  // namespace splitlet::node_api
