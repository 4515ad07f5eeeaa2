#pragma once

/// The bearer token of a request: in its header, or in a WebSocket's list of protocols.
/// Threads: any.
/// Errors:  UNAUTHENTICATED, with the reason, for a list with a malformed token.
/// Source:  docs/behaviour/node-api.md, "Authentication"; RFC 6750.

#include <optional>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/https/server.h"

namespace splitlet::node_api {

/// The x of "Authorization: Bearer x", or the token in Sec-WebSocket-Protocol; nullopt: the request
/// has no token.
StatusOr<std::optional<std::string>> TokenOf(const https::Request& request);
/// The list of protocols without the entry of the token.
std::string WithoutTokens(std::string_view protocols);

}  // namespace splitlet::node_api
