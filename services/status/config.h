#pragma once

/// Configuration of status, from flags and KubeletConfiguration.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/configuration.md, "Reading the file"; docs/safety.md, rule 24.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/daemon/api_server.h"
#include "libs/node/resources.h"
#include "services/status/identity/identity.h"
#include "services/status/node_settings.h"

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::status {

/// Limits of health answers, by process.
std::map<std::string, Duration> HealthLimits();

struct StatusConfig {
  std::string node_name;
  std::string root_dir;  // its file system is the storage of the node
  std::string run_dir = "/run/splitlet";
  node::NodeLimits limits;
  std::vector<std::string> node_ips;  // --node-ip; empty: the machine's addresses
  Duration reconcile_period = std::chrono::seconds{10};
  Duration ask_timeout = std::chrono::seconds{5};
  /// pleg is asked more often until the runtime was ready once and its features are known: every
  /// `ask_soon` during the first `hurry`, then every `ask_again`.
  Duration ask_soon = std::chrono::milliseconds{200}, hurry = std::chrono::minutes{2};
  Duration ask_again = std::chrono::seconds{1};
  /// How long each process may give no good answer.
  std::map<std::string, Duration> answer_limits = HealthLimits();
  /// How long after the start statuses of pods wait for pod-worker and its flags.
  Duration worker_wait = std::chrono::minutes{5};
  // The node at the API server.
  bool in_cluster = false;  // there is an API server
  NodeSettings node;
  bool sandbox_condition = true;  // the feature gate PodReadyToStartContainersCondition
  bool register_node = true;
  Duration status_update_frequency = std::chrono::seconds{10};
  Duration status_report_frequency = std::chrono::minutes{5};
  int32_t lease_duration_seconds = 40;
  Duration api_timeout = std::chrono::seconds{10};  // of each request for node and lease
  uint64_t seed = 1;                                // for jitter
  apiclient::ContentType api_content = apiclient::ContentType::kProtobuf;
  daemon::ApiRate api_rate{.qps = 50, .burst = 100};  // for calls about pods
  daemon::ApiRate event_rate{.qps = 50, .burst = 100};
  IdentityOptions identity;  // kubeconfig empty: no identity
};

StatusConfig LoadStatusConfig(const config::KubeletConfig& file, const daemon::Flags& flags);

}  // namespace splitlet::status
