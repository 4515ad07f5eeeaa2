#pragma once

/// Parses a request for a stream into a pod, and makes the request for the runtime's server.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Streams".

#include <optional>
#include <string>
#include <string_view>

#include "libs/https/server.h"
#include "services/node-api/http/routes.h"
#include "services/node-api/http/url.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::node_api {

/// "/exec/NS/POD/CONTAINER" or "/exec/NS/POD/UID/CONTAINER"; portForward has no container.
struct StreamPath {
  std::string name_space, pod, uid, container;
};
/// nullopt: too many components, or too few.
std::optional<StreamPath> ReadStreamPath(Route route, std::string_view path);

struct StreamQuery {
  std::optional<https::Answer> refusal;
  v1::OpenStreamRequest request;  // pod and container are not filled in
};
StreamQuery ReadStreamQuery(Route route, const Query& query, const https::Request& request);

bool IsUpgrade(const https::Request& request);

/// The request for the runtime's server: at the URL's path, without the client's credentials.
/// INVALID_ARGUMENT: the URL is not supported.
StatusOr<https::Backend> BackendFor(const https::Request& request, const std::string& url);

}  // namespace splitlet::node_api
