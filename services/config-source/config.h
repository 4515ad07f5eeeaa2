#pragma once

/// Settings of config-source, from flags and KubeletConfiguration.
/// Threads: values.
/// Errors: INVALID_ARGUMENT that names the key.
/// Source: docs/behaviour/config-sources.md; docs/behaviour/configuration.md, "Reading the file".

#include <map>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/kube/gated_fields.h"

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::config_source {

struct ConfigSourceConfig {
  std::string node_name;
  std::string static_pod_path;  // empty: no source `file`
  Duration file_check_frequency = std::chrono::seconds{20};
  std::string static_pod_url;  // empty: no source `http`
  std::map<std::string, std::vector<std::string>> static_pod_url_header;
  Duration http_check_frequency = std::chrono::seconds{20};
  std::string records_directory;  // kept over reboots
  bool has_objects = false;       // static pods may name config maps and secrets in variables
  std::string kubeconfig;         // empty: no source `api`
  apiclient::ContentType api_content = apiclient::ContentType::kProtobuf;
  kube::GatesOff gates_off = {};
  bool offline_start = false;  // saved API pods may start without the server
};

StatusOr<ConfigSourceConfig> LoadConfigSourceConfig(const config::KubeletConfig& file,
                                                    const daemon::Flags& flags);

}  // namespace splitlet::config_source
