#pragma once

/// What stream into a pod is asked for, and the head that the runtime's server gets for it.
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

/// Of "/exec/NS/POD/CONTAINER" or "/exec/NS/POD/UID/CONTAINER"; of portForward without container.
struct StreamPath {
  std::string name_space, pod, uid, container;
};
/// None: too many steps, or too few.
std::optional<StreamPath> ReadStreamPath(Route route, std::string_view path);

struct StreamQuery {
  std::optional<https::Answer> refusal;
  v1::OpenStreamRequest request;  // without pod and container
};
StreamQuery ReadStreamQuery(Route route, const Query& query, const https::Request& request);

bool IsUpgrade(const https::Request& request);

/// The request as the runtime's server gets it: at its own path, without credentials.
/// INVALID_ARGUMENT for a URL that cannot be reached from here.
StatusOr<https::Backend> BackendFor(const https::Request& request, const std::string& url);

}  // namespace splitlet::node_api
