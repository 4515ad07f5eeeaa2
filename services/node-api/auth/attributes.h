#pragma once

/// What a request asks to do with the node, as the API server's authorizers see it.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Authorization"; kubelet NodeRequestAttributes.

#include <string_view>
#include <vector>

namespace splitlet::node_api {

/// Of GET: "get"; empty for what has none, as HEAD.
std::string_view VerbOf(std::string_view method);

/// Of the resource `nodes`, each enough by itself, in the order in which they are asked. `path`:
/// decoded.
std::vector<std::string_view> SubresourcesOf(std::string_view path);

}  // namespace splitlet::node_api
