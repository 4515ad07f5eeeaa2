#pragma once

/// The way to the API server that a kubeconfig names, by libcurl: a connection for each purpose,
/// HTTP/2 where the server has it, credentials that are read anew when they change
/// (https_transport.h).
/// Threads: as Transport; two threads of its own from the first request on. Connect itself blocks
///          on a file.
/// Errors:  INVALID_ARGUMENT of a kubeconfig that is there, FAILED_PRECONDITION without libcurl;
///          those of Transport. A kubeconfig that becomes bad later is logged, and what was read of
///          it before stays in use.
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
  std::string kubeconfig;           // path; may come later: until then UNAVAILABLE
  std::string user_agent;           // "kubelet/v1.36.0 (linux/amd64) splitlet-status"
  std::string rotated_certificate;  // instead of the kubeconfig's, while it is good; empty: none
  std::shared_ptr<PluginMetrics> plugin_metrics = nullptr;  // null: none
  /// For how long from now on a kubeconfig that is missing is being made (https_transport.h).
  Duration made_within{0};
};

/// One for each purpose of a process, so that none delays another.
StatusOr<std::unique_ptr<Transport>> Connect(ConnectOptions options);

}  // namespace splitlet::apiclient
