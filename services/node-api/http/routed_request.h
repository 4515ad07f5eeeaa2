#pragma once

/// A request whose path is known: what RequestFilter checks and Endpoints answers.
/// Threads: values; nothing fails.

#include <memory>
#include <string>

#include "libs/https/server.h"
#include "services/node-api/http/routes.h"

namespace splitlet::node_api {

struct RoutedRequest {
  Route route = Route::kHealthz;
  Surface surface = Surface::kSecured;
  std::string path;      // decoded
  std::string disabled;  // text of the 405 that a disabled handler answers; empty: enabled
  std::string user;      // name of the authenticated user; empty on a port without authentication
  https::Request request;
  std::shared_ptr<https::Responder> responder;
};

}  // namespace splitlet::node_api
