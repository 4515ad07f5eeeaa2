#pragma once

/// Which API pods that were saved in another boot may start without the API server
/// (splitlet.offlineStart).
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/safety.md, rule 6; docs/behaviour/config-sources.md, "Without the API server".

#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

/// The API server must be out of reach, without one answer, for this long first.
inline constexpr Duration kOfflineWait = std::chrono::minutes{1};

/// With the value "true" a pod of a StatefulSet may start too, although another node may run a pod
/// of its name by now.
inline constexpr std::string_view kOfflineStart = "splitlet.dev/offline-start";

/// Why the pod must wait for the server; empty: it may start.
std::string WhyNotOffline(const kube::Pod& pod);

}  // namespace splitlet::config_source
