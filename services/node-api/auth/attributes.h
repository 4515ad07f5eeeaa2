#pragma once

/// The verb and subresources of a request, as the API server's authorizers name them.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Authorization"; kubelet NodeRequestAttributes.

#include <string_view>
#include <vector>

namespace splitlet::node_api {

/// "get" for GET; empty for a method without a verb, such as HEAD.
std::string_view VerbOf(std::string_view method);

/// Subresources of `nodes`, in the order in which they are checked; a right to one of them
/// suffices. `path`: decoded.
std::vector<std::string_view> SubresourcesOf(std::string_view path);

}  // namespace splitlet::node_api
