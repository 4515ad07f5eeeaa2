#pragma once

/// Discovery documents of the fake API server: versions, groups, resources and health, as far as
/// kubectl reads them.
/// Threads: pure functions, any; nothing fails.
/// Source: Kubernetes API, "Discovery API", "Kubernetes API health endpoints".

#include <optional>
#include <string>

#include "libs/apiclient/transport.h"

namespace splitlet::fake_api {

inline constexpr std::string_view kFakeVersion = "v1.36.0";

/// nullopt if the path is not a discovery document.
std::optional<apiclient::Response> Discover(const std::string& path);

}  // namespace splitlet::fake_api
