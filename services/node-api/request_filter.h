#pragma once

/// Filters requests: finds the route and the user, and checks the user's rights. It passes allowed
/// requests to the endpoints.
/// In:    requests of all three ports.
/// Owns:  authenticator and authorizer.
/// Out:   refusals; allowed requests.
/// Killed at any line: clients repeat their requests.
/// Threads: loop thread only.
/// Errors: as answers: 404 and 301 before authentication, then 401, 403, 405, 429, 500.
/// Source: docs/behaviour/node-api.md, "A request".

#include <functional>
#include <memory>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "services/node-api/auth/authenticator.h"
#include "services/node-api/auth/authorizer.h"
#include "services/node-api/auth/review_calls.h"
#include "services/node-api/config.h"
#include "services/node-api/http/metrics.h"
#include "services/node-api/http/routed_request.h"

namespace splitlet::node_api {

class RequestFilter {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const Log& log;
    NodeApiMetrics& metrics;
    std::shared_ptr<Reviewer> reviewer;  // null: there is no API server
    std::string secret;                  // random for each start
    std::function<void(RoutedRequest asked)> serve;
  };
  RequestFilter(Deps deps, const NodeApiConfig& config);
  RequestFilter(const RequestFilter&) = delete;
  RequestFilter& operator=(const RequestFilter&) = delete;

  void OnRequest(Surface surface, https::Request request,
                 std::shared_ptr<https::Responder> responder);

 private:
  using Shared = std::shared_ptr<RoutedRequest>;
  static ReviewCalls::Deps CallsOf(const Deps& deps, const char* kind);
  void OnAuthenticated(const Shared& asked, const StatusOr<User>& who);
  void OnAuthorized(const Shared& asked, const Status& may);
  void Serve(const Shared& asked);
  void Refuse(const Shared& asked, const char* why, https::Answer answer);

  Deps deps_;
  const NodeApiConfig& config_;
  ReviewCalls token_calls_, access_calls_;
  Authenticator authenticator_;
  Authorizer authorizer_;
  Random random_{RandomSeed()};  // for trace ids
};

}  // namespace splitlet::node_api
