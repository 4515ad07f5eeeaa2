#pragma once

/// A request whose route is known; RequestFilter checks it and Endpoints answers it.
/// Threads: values; nothing fails.

#include <memory>
#include <string>

#include "libs/https/server.h"
#include "services/node-api/http/routes.h"

namespace splitlet::node_api {

struct RoutedRequest {
  Route route = Route::kHealthz;
  Surface surface = Surface::kSecured;
  std::string path;      // decoded path
  std::string disabled;  // text of a disabled handler's 405; empty: enabled
  std::string user;      // name of the authenticated user; empty on a port without authentication
  https::Request request;
  std::shared_ptr<https::Responder> responder;
};

}  // namespace splitlet::node_api
