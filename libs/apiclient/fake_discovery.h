#pragma once

/// What the server in memory says of itself: versions, groups, resources, health; as much as
/// kubectl asks for.
/// Threads: pure functions, any; nothing fails.
/// Source: Kubernetes API, "Discovery API", "Kubernetes API health endpoints".

#include <optional>
#include <string>

#include "libs/apiclient/transport.h"

namespace splitlet::apiclient {

inline constexpr std::string_view kFakeVersion = "v1.36.0";

/// Nothing for a path that is no such document.
std::optional<Response> Discover(const std::string& path);

}  // namespace splitlet::apiclient
