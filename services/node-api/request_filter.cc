#include "services/node-api/request_filter.h"

#include <utility>

#include "services/node-api/http/bearer_token.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/http/request_trace.h"
#include "services/node-api/http/url.h"

namespace splitlet::node_api {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,    2.5,   5,    10};

/// Counts a request until it is answered or forwarded.
class CountedResponder final : public https::Responder {
 public:
  CountedResponder(std::shared_ptr<https::Responder> inner, NodeApiMetrics& metrics,
                   const Clock& clock, const prometheus::Labels& labels)
      : inner_(std::move(inner)),
        clock_(clock),
        began_(clock.Now()),
        inflight_(metrics.inflight.Add(labels)),
        seconds_(metrics.request_seconds.Add(labels, kBuckets)) {
    metrics.requests.Add(labels).Increment();
    inflight_.Increment();
  }
  ~CountedResponder() override {
    inflight_.Decrement();
    seconds_.Observe(std::chrono::duration<double>(clock_.Now() - began_).count());
  }
  CountedResponder(const CountedResponder&) = delete;
  CountedResponder& operator=(const CountedResponder&) = delete;

  void SetKnown() override { inner_->SetKnown(); }
  void OnGone(std::function<void()> gone) override { inner_->OnGone(std::move(gone)); }
  void Send(https::Answer answer) override { inner_->Send(std::move(answer)); }
  std::shared_ptr<https::Stream> Begin(https::Answer head) override {
    return inner_->Begin(std::move(head));
  }
  void PassTo(https::Backend backend) override { inner_->PassTo(std::move(backend)); }

 private:
  const std::shared_ptr<https::Responder> inner_;
  const Clock& clock_;
  const Clock::Time began_;
  prometheus::Gauge& inflight_;
  prometheus::Histogram& seconds_;
};

https::Answer RedirectTo(const https::Request& request) {
  https::Answer answer = TextReply(301, "Moved Permanently");
  answer.headers.emplace_back(
      "Location", request.path + "/" + (request.query.empty() ? "" : "?" + request.query));
  return answer;
}

https::Answer WrongMethod(Route route) {
  https::Answer answer = TextReply(405, "405: Method Not Allowed");
  answer.headers.emplace_back("Allow", std::string(MethodsOf(route)));
  return answer;
}

}  // namespace

ReviewCalls::Deps RequestFilter::CallsOf(const Deps& deps, const char* kind) {
  return {.clock = deps.clock,
          .loop = deps.loop,
          .strands = deps.strands,
          .reviewer = deps.reviewer,
          .seed = RandomSeed(),
          .kind = kind};
}

RequestFilter::RequestFilter(Deps deps, const NodeApiConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      token_calls_(CallsOf(deps_, "token-review")),
      access_calls_(CallsOf(deps_, "access-review")),
      authenticator_({.clock = deps_.clock, .calls = token_calls_},
                     {.webhook = config.server.webhook_authentication,
                      .anonymous = config.server.anonymous,
                      .token_ttl = config.server.token_ttl,
                      .secret = deps_.secret,
                      .certificate_uid = config.gates.Enabled("AllowParsingUserUIDFromCertAuth")}),
      authorizer_({.clock = deps_.clock, .calls = access_calls_},
                  {.always = config.server.authorization == "AlwaysAllow",
                   .node = config.node_name,
                   .allowed_ttl = config.server.authorized_ttl,
                   .denied_ttl = config.server.unauthorized_ttl}) {}

void RequestFilter::OnRequest(Surface surface, https::Request request,
                              std::shared_ptr<https::Responder> responder) {
  const auto path = DecodePath(request.path);
  if (surface != Surface::kHealthz)
    responder = std::make_shared<CountedResponder>(
        std::move(responder), deps_.metrics, deps_.clock,
        LabelsOf(request.method, path.value_or(""), surface == Surface::kReadOnly).Get());
  const Match match = path ? FindRoute(*path, surface, config_.handlers) : Match{};
  switch (match.kind) {
    case Match::Kind::kUnknown: return responder->Send(TextReply(404, "404 page not found"));
    case Match::Kind::kRedirect: return responder->Send(RedirectTo(request));
    case Match::Kind::kServed:
    case Match::Kind::kDisabled: break;
  }
  const auto asked =
      std::make_shared<RoutedRequest>(RoutedRequest{.route = match.route,
                                                    .surface = surface,
                                                    .path = *path,
                                                    .disabled = match.text,
                                                    .user = {},
                                                    .request = std::move(request),
                                                    .responder = std::move(responder)});
  if (surface != Surface::kSecured) return Serve(asked);
  authenticator_.Authenticate(
      asked->request, [this, asked](const StatusOr<User>& who) { OnAuthenticated(asked, who); });
}

void RequestFilter::Refuse(const Shared& asked, const char* why, https::Answer answer) {
  deps_.metrics.refused.Add({{"why", why}}).Increment();
  asked->responder->Send(std::move(answer));
}

void RequestFilter::OnAuthenticated(const Shared& asked, const StatusOr<User>& who) {
  if (who.ok()) {
    asked->user = who->name;
    authorizer_.Authorize(*who, asked->request.method, asked->path,
                          [this, asked](const Status& may) { OnAuthorized(asked, may); });
    return;
  }
  if (who.status().code() == StatusCode::kResourceExhausted)
    return Refuse(asked, "busy", TextReply(429, Message(who.status())));
  deps_.log.Debug("request not authenticated, answered with 401",
                  {KV("peer", asked->request.peer), KV("err", who.status())});
  const auto token = TokenOf(asked->request);
  const bool alone = !config_.has_api_server && config_.server.webhook_authentication &&
                     token.ok() && token->has_value();
  Refuse(asked, "unauthenticated",
         TextReply(401, alone ? "Unauthorized: " + Message(who.status()) : "Unauthorized"));
}

void RequestFilter::OnAuthorized(const Shared& asked, const Status& may) {
  if (may.ok()) {
    asked->responder->SetKnown();
    return Serve(asked);
  }
  const auto code = may.code();
  if (code == StatusCode::kPermissionDenied)
    return Refuse(asked, "forbidden", TextReply(403, Message(may)));
  if (code == StatusCode::kResourceExhausted)
    return Refuse(asked, "busy", TextReply(429, Message(may)));
  Refuse(asked, "unanswered", TextReply(500, Message(may)));
}

void RequestFilter::Serve(const Shared& asked) {
  const https::Request& request = asked->request;
  if (!asked->disabled.empty()) return asked->responder->Send(TextReply(405, asked->disabled));
  if (!TakesMethod(asked->route, request.method))
    return asked->responder->Send(WrongMethod(asked->route));
  if (IsUnacceptable(asked->route, request.Header("Accept")))
    return asked->responder->Send(TextReply(406, "406: Not Acceptable"));
  if (asked->surface != Surface::kHealthz) TraceRequest(*asked, random_);
  deps_.serve(std::move(*asked));
}

}  // namespace splitlet::node_api
