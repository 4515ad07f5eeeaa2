#include "tests/fake_api/server.h"

#include <algorithm>
#include <mutex>

#include "libs/base/cancel.h"
#include "libs/fake_api/handler.h"
#include "libs/https/server.h"

namespace splitlet::fake_api {
namespace {

using apiclient::Response;

constexpr auto kLongest = std::chrono::hours{24};

bool IsWatch(const https::Request& request) {
  const auto query = ParseQuery("?" + request.query);
  const auto it = query.find("watch");
  return request.method == "GET" && it != query.end() &&
         (it->second == "true" || it->second == "1");
}

std::string WatchType(std::string_view accept) {
  const auto format = FormatOf(accept);
  std::string type(ContentTypeOf(format));
  return format == Format::kProtobuf ? type + ";stream=watch" : type;
}

https::Answer AnswerOf(const Response& response) {
  https::Answer answer{.code = response.code, .body = response.body};
  answer.headers.emplace_back("Content-Type", response.content_type);
  answer.headers.emplace_back("Audit-Id", "fake-api");
  if (response.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*response.retry_after);
    answer.headers.emplace_back("Retry-After", std::to_string(seconds.count()));
  }
  return answer;
}

/// One request of a client; the response starts with its first bytes.
class Exchange {
 public:
  Exchange(std::shared_ptr<https::Responder> responder, std::string type)
      : responder_(std::move(responder)), type_(std::move(type)) {}

  void Begin() {
    const std::lock_guard lock(mutex_);
    BeginLocked();
  }
  void OnData(std::string_view data) {
    const std::lock_guard lock(mutex_);
    BeginLocked();
    if (stream_ != nullptr && !data.empty()) stream_->Write(data);
  }
  void OnDone(const StatusOr<Response>& answer) {
    const std::lock_guard lock(mutex_);
    if (!answer.ok())
      BeginLocked();  // and cut below, so that the client sees that the answer is
                      // incomplete
    if (stream_ == nullptr && responder_ != nullptr) {
      responder_->Send(AnswerOf(*answer));
    } else if (stream_ != nullptr && answer.ok()) {
      stream_->End();
    }
    stream_.reset();
    responder_.reset();
  }

 private:
  void BeginLocked() {
    if (responder_ == nullptr || stream_ != nullptr) return;
    stream_ = responder_->Begin({.code = 200, .headers = {{"Content-Type", type_}}});
  }

  std::mutex mutex_;
  std::shared_ptr<https::Responder> responder_;
  const std::string type_;
  std::shared_ptr<https::Stream> stream_;
};

class RealServer final : public Server {
 public:
  RealServer(const Clock& clock, FakeApiServer& api, Options options)
      : clock_(clock), api_(api), options_(std::move(options)) {}

  /// Waiting requests release their connections first.
  ~RealServer() override { api_.SetAway(true); }

  Status Listen() {
    ASSIGN_OR_RETURN(
        const auto context,
        https::MakeTlsContext({}, options_.certificate, options_.key, options_.client_ca),
        "server certificate");
    ASSIGN_OR_RETURN(const auto authority, https::MakeClientAuthority(options_.client_ca),
                     "client authority");
    ASSIGN_OR_RETURN(server_,
                     https::StartServer({.address = options_.address,
                                         .port = options_.port,
                                         .max_connections = 5000,
                                         .max_body_bytes = 8 << 20,
                                         .max_unread_bytes = 256 << 20,
                                         .max_unsent_bytes = 1 << 30,
                                         .idle_limit = std::chrono::hours{1}},
                                        [this](https::Request request, auto responder) {
                                          Serve(std::move(request), std::move(responder));
                                        }),
                     "listen on {}:{}", options_.address, options_.port);
    server_->SetTls(context);
    server_->SetClientAuthority(authority);
    options_.port = server_->port();  // the same port after it was away
    return OkStatus();
  }

  uint16_t port() const override { return options_.port; }

  Status SetAway(bool away) override {
    api_.SetAway(away);
    if (!away) return server_ == nullptr ? Listen() : OkStatus();
    server_.reset();
    return OkStatus();
  }

 private:
  FakeUser UserOf(const https::Request& request) const {
    FakeUser user{"system:anonymous", "", {"system:unauthenticated"}};
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view header = request.Header("Authorization");
    if (request.client) {
      user = {request.client->common_name, request.client->uid, request.client->organizations};
      user.groups.emplace_back("system:authenticated");
    } else if (header.starts_with(kBearer)) {
      if (const auto known = api_.UserOf(std::string(header.substr(kBearer.size())))) user = *known;
    }
    return user;
  }

  /// HTTP status of the refusal; 0: allowed.
  int Refusal(const https::Request& request, const FakeUser& user) const {
    if (!options_.rbac) return 0;
    static const std::vector<std::string> kOpen = {"/healthz", "/livez", "/readyz", "/version"};
    if (std::find(kOpen.begin(), kOpen.end(), request.path) != kOpen.end()) return 0;
    if (user.name == "system:anonymous") return 401;
    const auto in = [&](const char* group) {
      return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
    };
    if (in("system:masters") || in("system:nodes")) return 0;
    const bool csr =
        request.path.starts_with("/apis/certificates.k8s.io/v1/certificatesigningrequests");
    if (in("system:bootstrappers") && csr) return 0;
    const auto place = ParsePath(request.path);
    Access access{.verb = VerbOf(request)};
    if (place) {
      access.group = place->kind->group;
      access.resource = place->kind->resource;
      if (!place->subresource.empty()) access.resource += "/" + place->subresource;
      access.name = place->name;
    } else {
      access.path = request.path;
    }
    return api_.IsAllowed(user, access) ? 0 : 403;
  }

  static std::string VerbOf(const https::Request& request) {
    if (request.method == "POST") return "create";
    if (request.method == "PUT") return "update";
    if (request.method == "PATCH") return "patch";
    if (request.method == "DELETE") return "delete";
    if (IsWatch(request)) return "watch";
    const auto place = ParsePath(request.path);
    return place && place->name.empty() ? "list" : "get";
  }

  void Serve(https::Request in, std::shared_ptr<https::Responder> responder) {
    const FakeUser user = UserOf(in);
    const std::string accept(in.Header("Accept"));
    if (const int refused = Refusal(in, user); refused != 0) {
      const std::string_view why = refused == 401 ? "Unauthorized" : "this is not allowed to you";
      const Status status = MakeStatus(StatusCodeOf(refused), why);
      const auto format = FormatOf(accept);
      return responder->Send(AnswerOf(ErrorResponse(status, nullptr, format)));
    }
    apiclient::Request request{.method = in.method,
                               .path = in.target,
                               .accept = accept,
                               .content_type = std::string(in.Header("Content-Type")),
                               .body = std::move(in.body)};
    const auto cancel = std::make_shared<CancelToken>();
    Deadline deadline = After(clock_, kLongest);
    deadline.cancel = cancel;
    responder->SetKnown();
    responder->OnGone([cancel] { cancel->Cancel(); });
    const bool watch = IsWatch(in);
    const auto exchange = std::make_shared<Exchange>(responder, WatchType(accept));
    const auto done = [exchange](const StatusOr<Response>& answer) { exchange->OnDone(answer); };
    FakeApiServer::Listener listener{.done = done};
    if (watch) listener.on_data = [exchange](std::string_view data) { exchange->OnData(data); };
    api_.BeginAs(user, std::move(request), std::move(deadline), std::move(listener));
    if (watch) exchange->Begin();  // a watch's head is sent before its first event
  }

  const Clock& clock_;
  FakeApiServer& api_;
  Options options_;
  std::unique_ptr<https::Server> server_;
};

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Start(const Clock& clock, FakeApiServer& api,
                                                Options options) {
  auto server = std::make_unique<RealServer>(clock, api, std::move(options));
  RETURN_IF_ERROR(server->Listen(), "fake-api");
  return server;
}

}  // namespace splitlet::fake_api
