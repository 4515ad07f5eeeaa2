#pragma once

/// What status takes from flags and KubeletConfiguration.
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

/// Of the processes that are asked how they are.
std::map<std::string, Duration> HealthLimits();

struct StatusConfig {
  std::string node_name;
  std::string root_dir;  // its file system is the storage of the node
  std::string run_dir = "/run/splitlet";
  node::NodeLimits limits;
  std::vector<std::string> node_ips;  // of --node-ip; empty: found out
  Duration reconcile_period = std::chrono::seconds{10};
  Duration ask_timeout = std::chrono::seconds{5};
  /// Pleg, until the runtime has been ready once and it is known what it can do: soon at first, for
  /// `hurry`.
  Duration ask_soon = std::chrono::milliseconds{200}, hurry = std::chrono::minutes{2};
  Duration ask_again = std::chrono::seconds{1};
  /// How long each process may leave questions without a good answer.
  std::map<std::string, Duration> answer_limits = HealthLimits();
  /// After that long without pod-worker statuses of pods are put without its flags.
  Duration worker_wait = std::chrono::minutes{5};
  // The node at the API server.
  bool in_cluster = false;  // there is one
  NodeSettings node;
  bool sandbox_condition = true;  // the feature gate PodReadyToStartContainersCondition
  bool register_node = true;
  Duration status_update_frequency = std::chrono::seconds{10};
  Duration status_report_frequency = std::chrono::minutes{5};
  int32_t lease_duration_seconds = 40;
  Duration api_timeout = std::chrono::seconds{10};  // of each request for node and lease
  uint64_t seed = 1;                                // of jitter
  apiclient::ContentType api_content = apiclient::ContentType::kProtobuf;
  daemon::ApiRate api_rate{.qps = 50, .burst = 100};  // of pods
  daemon::ApiRate event_rate{.qps = 50, .burst = 100};
  IdentityOptions identity;  // without a kubeconfig: none
};

StatusConfig LoadStatusConfig(const config::KubeletConfig& file, const daemon::Flags& flags);

}  // namespace splitlet::status
