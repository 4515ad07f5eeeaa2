#pragma once

/// Which pods of an API server that are remembered from another boot may start although the server
/// cannot be asked about them (splitlet.offlineStart).
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/safety.md, rule 6; docs/behaviour/config-sources.md, "Without the API server".

#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

/// How long the API server must have been out of reach, without one answer, before that.
inline constexpr Duration kOfflineWait = std::chrono::minutes{1};

/// With the value "true" a pod of a StatefulSet may start too, although another node may have been
/// given a pod of its name meanwhile.
inline constexpr std::string_view kOfflineStart = "splitlet.dev/offline-start";

/// Why it must wait for the server; empty when it may start.
std::string WhyNotOffline(const kube::Pod& pod);

}  // namespace splitlet::config_source
