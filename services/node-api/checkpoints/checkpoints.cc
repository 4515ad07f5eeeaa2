#include "services/node-api/checkpoints/checkpoints.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/http/url.h"
#include "services/node-api/pods/containers.h"
#include "splitlet/v1/checkpoints.pb.h"

namespace splitlet::node_api {
namespace {

constexpr Duration kCallLimit = std::chrono::seconds{55};  // below the caller's limit, because
                                                           // pod-worker answers earlier

/// The code's name in Go's gRPC.
std::string_view GoName(StatusCode code) {
  static constexpr auto kNames = std::to_array<std::pair<StatusCode, std::string_view>>({
      {StatusCode::kCancelled, "Canceled"},
      {StatusCode::kInvalidArgument, "InvalidArgument"},
      {StatusCode::kDeadlineExceeded, "DeadlineExceeded"},
      {StatusCode::kNotFound, "NotFound"},
      {StatusCode::kAlreadyExists, "AlreadyExists"},
      {StatusCode::kPermissionDenied, "PermissionDenied"},
      {StatusCode::kResourceExhausted, "ResourceExhausted"},
      {StatusCode::kFailedPrecondition, "FailedPrecondition"},
      {StatusCode::kAborted, "Aborted"},
      {StatusCode::kUnimplemented, "Unimplemented"},
      {StatusCode::kInternal, "Internal"},
      {StatusCode::kUnavailable, "Unavailable"},
  });
  for (const auto& [known, name] : kNames)
    if (known == code) return name;
  return "Unknown";
}

https::Answer Failed(const std::string& name, const std::string& why) {
  return TextReply(500, fmt::format("checkpointing of {} failed ({})", name, why));
}

https::Answer AnswerOf(const std::string& name, const StatusOr<v1::CheckpointReply>& reply) {
  if (!reply.ok())
    return Failed(name, fmt::format("rpc error: code = {} desc = {}", GoName(reply.status().code()),
                                    Message(reply.status())));
  return JsonReply(fmt::format(R"({{"items":["{}"]}})", reply->location()));
}

/// The last value counts; 0 if there is none, nullopt if it is not a number.
std::optional<int64_t> TimeoutOf(const Query& query) {
  const auto all = query.All("timeout");
  if (all.empty()) return 0;
  const std::string_view text = all.back();
  int64_t seconds = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return seconds;
}

StatusOr<v1::CheckpointReply> CallCheckpoint(PodCalls& calls, const v1::CheckpointRequest& request,
                                             const CallOptions& options) {
  FAIL_POINT("node-api.checkpoint.before");
  auto reply = calls.Checkpoint(request, options);
  FAIL_POINT("node-api.checkpoint.after");
  return reply;
}

}  // namespace

void Checkpoints::Serve(const std::string& path, const https::Request& request,
                        std::shared_ptr<https::Responder> responder) {
  const auto steps = StepsOf(path);
  if (steps.size() != 4) return responder->Send(TextReply(404, "404: Page Not Found"));
  const std::string& container = steps[3];
  const auto seen = deps_.pods.Find(steps[1], steps[2]);
  if (!seen.ok()) return responder->Send(TextReply(404, "pod does not exist"));
  const auto pod = PodOf(*seen);
  if (pod == nullptr || FindContainer(*pod, container) == Sort::kNone)
    return responder->Send(TextReply(404, fmt::format("container {} does not exist", container)));
  const auto timeout = TimeoutOf(Query(request.query));
  if (!timeout) return responder->Send(TextReply(404, "cannot parse value of timeout parameter"));
  const Wanted wanted{.name = fmt::format("{}/{}/{}", steps[1], steps[2], container),
                      .uid = seen->desired->uid(),
                      .container_id = RunningContainer(*seen, container),
                      .traceparent = TraceparentOf(request),
                      .timeout_seconds = *timeout};
  if (wanted.container_id.empty())
    return responder->Send(Failed(wanted.name, fmt::format("container {} not found", container)));
  if (*timeout < 0)
    return responder->Send(
        Failed(wanted.name, "CheckpointContainer requires the timeout value to be > 0"));
  if (waiting_.size() >= kMaxWaiting)
    return responder->Send(TextReply(429, "too many checkpoints are being made"));
  Make(wanted, std::move(responder));
}

void Checkpoints::Make(const Wanted& wanted, std::shared_ptr<https::Responder> responder) {
  const uint64_t number = ++last_;
  v1::CheckpointRequest request;
  request.set_request_id(fmt::format("{:016x}-{}", deps_.start_id, number));
  request.set_uid(wanted.uid);
  request.set_container_id(wanted.container_id);
  request.set_timeout_seconds(wanted.timeout_seconds);
  const auto cancel = std::make_shared<CancelToken>();
  waiting_.emplace(number, cancel);
  responder->OnGone([cancel] { cancel->Cancel(); });
  asker_.Ask(
      fmt::format("checkpoint/{}", number),
      [&clock = deps_.clock, calls = deps_.calls, request, cancel, wanted,
       responder = std::move(responder)] {
        StatusOr<v1::CheckpointReply> reply = v1::CheckpointReply();
        while (reply.ok() && !reply->done()) {
          Deadline deadline = After(clock, kCallLimit);
          deadline.cancel = cancel;
          reply = CallCheckpoint(*calls, request,
                                 {.deadline = deadline, .traceparent = wanted.traceparent});
        }
        responder->Send(AnswerOf(wanted.name, reply));
      },
      [this, number] { waiting_.erase(number); });
}

void Checkpoints::Stop() {
  for (const auto& [number, cancel] : waiting_) cancel->Cancel();
}

}  // namespace splitlet::node_api
