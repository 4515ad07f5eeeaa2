#pragma once

/// Transport to the API server of a kubeconfig, by libcurl. Each purpose has its own connection,
/// HTTP/2 if the server supports it, and changed credentials are read again (https_transport.h).
/// Threads: as Transport; two own threads from the first request on. Connect itself blocks on a
///          file.
/// Errors:  INVALID_ARGUMENT: malformed kubeconfig; FAILED_PRECONDITION: no libcurl; those of
///          Transport. A kubeconfig that becomes malformed later is logged, and the last good one
///          stays in use.
/// Source:  docs/behaviour/api-client.md, "The way there"; client-go rest.Config and transport.

#include <memory>
#include <string>

#include "libs/apiclient/client_metrics.h"
#include "libs/apiclient/kubeconfig.h"
#include "libs/apiclient/transport.h"
#include "libs/base/log.h"
#include "libs/fs/file_system.h"

namespace splitlet::apiclient {

struct ConnectOptions {
  const Clock& clock;
  fs::FileSystem& files;
  Log log;
  std::string kubeconfig;           // path; may be absent at first: UNAVAILABLE
  std::string user_agent;           // "kubelet/v1.36.0 (linux/amd64) splitlet-status"
  std::string rotated_certificate;  // replaces the kubeconfig's while it is valid; empty: none
  std::shared_ptr<PluginMetrics> plugin_metrics = nullptr;  // null: none
  /// Within this time a missing kubeconfig counts as being created (https_transport.h).
  Duration made_within{0};
};

/// Make one for each purpose of a process, so that none delays another.
StatusOr<std::unique_ptr<Transport>> Connect(ConnectOptions options);

}  // namespace splitlet::apiclient
