#include "services/node-api/streaming/pod_streams.h"

#include <functional>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/pods/containers.h"
#include "services/node-api/streaming/stream_query.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::node_api {
namespace {

constexpr Duration kOpenLimit = std::chrono::seconds{30};  // including the wait for its turn
constexpr Duration kRunLimit = std::chrono::seconds{55};

https::Answer ErrorReply(const Status& status) {
  if (status.code() == StatusCode::kNotFound) return TextReply(404, Message(status));
  if (status.code() != StatusCode::kResourceExhausted) return TextReply(500, Message(status));
  https::Answer answer = TextReply(429, Message(status));
  answer.headers.emplace_back("Retry-After", "60");
  return answer;
}

/// Splits at each blank, as a kubelet does; quotes have no meaning.
std::vector<std::string> WordsOf(const std::string& command) {
  std::vector<std::string> words;
  size_t from = 0;
  while (true) {
    const auto blank = command.find(' ', from);
    words.push_back(command.substr(from, blank - from));
    if (blank == std::string::npos) return words;
    from = blank + 1;
  }
}

StatusOr<std::string> OpenStream(PodCalls& calls, const v1::OpenStreamRequest& request,
                                 const CallOptions& options) {
  FAIL_POINT("node-api.stream.before");
  auto url = calls.OpenStream(request, options);
  FAIL_POINT("node-api.stream.after");
  return url;
}

StatusOr<v1::RunCommandReply> RunCommand(PodCalls& calls, const v1::RunCommandRequest& request,
                                         const CallOptions& options) {
  FAIL_POINT("node-api.run.before");
  auto reply = calls.RunCommand(request, options);
  FAIL_POINT("node-api.run.after");
  return reply;
}

}  // namespace

void PodStreams::Serve(Asked asked) {
  const auto place = ReadStreamPath(asked.route, asked.path);
  if (!place) return asked.responder->Send(TextReply(404, "404: Page Not Found"));
  const auto seen = deps_.pods.Find(place->name_space, place->pod);
  if (asked.route == Route::kRun) {
    if (!seen.ok()) return asked.responder->Send(TextReply(404, "pod does not exist"));
    return Run(*seen, place->container, std::move(asked));
  }
  StreamQuery query = ReadStreamQuery(asked.route, Query(asked.request.query), asked.request);
  if (query.refusal) return asked.responder->Send(*query.refusal);
  if (!seen.ok()) return asked.responder->Send(TextReply(404, "pod does not exist"));
  const std::string& uid = seen->desired->uid();
  const bool other = !place->uid.empty() && place->uid != uid;
  query.request.set_uid(uid);
  query.request.set_user(asked.user);
  if (asked.route == Route::kPortForward) {
    if (other) return asked.responder->Send(TextReply(404, "pod not found"));
    return Open(std::move(query.request), std::move(asked));
  }
  const bool attach = asked.route == Route::kAttach;
  if (attach && other)
    return asked.responder->Send(
        TextReply(500, fmt::format("pod {}_{} not found", place->pod, place->name_space)));
  const std::string id = RunningContainer(*seen, place->container);
  if (id.empty())
    return asked.responder->Send(
        TextReply(500, attach ? fmt::format("container {} not found in pod {}_{}", place->container,
                                            place->pod, place->name_space)
                              : fmt::format("container not found (\"{}\")", place->container)));
  query.request.set_container_id(id);
  if (const auto pod = attach ? PodOf(*seen) : nullptr) {
    query.request.set_tty(HasTerminal(*pod, place->container));
    if (query.request.tty()) query.request.set_want_stderr(false);
  }
  Open(std::move(query.request), std::move(asked));
}

void PodStreams::Open(v1::OpenStreamRequest request, Asked asked) {
  if (waiting_ >= kMaxWaiting)
    return asked.responder->Send(
        ErrorReply(ResourceExhausted("too many streams are being opened")));
  ++waiting_;
  const size_t lane = std::hash<std::string>{}(request.uid()) % kLanes;
  CallOptions options = OptionsFor(asked.request, After(deps_.clock, kOpenLimit));
  asker_.Ask(
      fmt::format("stream/{}", lane),
      [calls = deps_.calls, request = std::move(request), options = std::move(options)] {
        return OpenStream(*calls, request, options);
      },
      [this, asked = std::move(asked)](const StatusOr<std::string>& url) { OnOpened(asked, url); });
}

void PodStreams::OnOpened(const Asked& asked, const StatusOr<std::string>& url) {
  --waiting_;
  if (!url.ok()) return asked.responder->Send(ErrorReply(url.status()));
  if (!IsUpgrade(asked.request))
    return asked.responder->Send(TextReply(500, "Upgrade request required"));
  auto backend = BackendFor(asked.request, *url);
  if (!backend.ok()) return asked.responder->Send(ErrorReply(backend.status()));
  asked.responder->PassTo(*std::move(backend));
}

void PodStreams::Run(const PodSeen& seen, const std::string& container, Asked asked) {
  v1::RunCommandRequest request;
  request.set_uid(seen.desired->uid());
  request.set_user(asked.user);
  request.set_container_id(RunningContainer(seen, container));
  if (request.container_id().empty())
    return asked.responder->Send(
        TextReply(500, fmt::format("container not found (\"{}\")", container)));
  for (auto& word : WordsOf(Query(asked.request.query).Get("cmd"))) request.add_command(word);
  if (running_ >= kMaxRunning)
    return asked.responder->Send(ErrorReply(ResourceExhausted("too many commands are running")));
  ++running_;
  asker_.Ask(
      fmt::format("run/{}", ++last_),
      [calls = deps_.calls, request,
       options = OptionsFor(asked.request, After(deps_.clock, kRunLimit))] {
        return RunCommand(*calls, request, options);
      },
      [this, responder = asked.responder](const StatusOr<v1::RunCommandReply>& reply) {
        --running_;
        if (!reply.ok()) return responder->Send(TextReply(500, Message(reply.status())));
        if (reply->exit_code() != 0)
          return responder->Send(TextReply(
              500, fmt::format("command terminated with exit code {}", reply->exit_code())));
        responder->Send(JsonReply(reply->output() + reply->errors()));
      });
}

}  // namespace splitlet::node_api
