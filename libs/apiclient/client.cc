#include "libs/apiclient/client.h"

#include <google/protobuf/message.h>

#include <mutex>
#include <optional>
#include <utility>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/options.pb.h"
#include "libs/apiclient/client_metrics.h"
#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"

namespace splitlet::apiclient {
namespace {

constexpr int kMaxRetries = 10;
/// A transport enforces the deadline itself; the client waits this much longer in case it does not.
constexpr Duration kPatience = 5s;

/// Where a transport's thread leaves the answer for the waiting caller.
struct Answer {
  Gate gate;
  std::mutex mutex;
  std::optional<StatusOr<Response>> value;

  void Put(StatusOr<Response> answer) {
    {
      const std::lock_guard lock(mutex);
      value = std::move(answer);
    }
    gate.Open();
  }
  StatusOr<Response> Take() {
    const std::lock_guard lock(mutex);
    if (!value) return DeadlineExceeded("no answer");
    return std::move(*value);
  }
};

std::string_view PatchMime(PatchType type) {
  switch (type) {
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kStrategicMerge: return "application/strategic-merge-patch+json";
    case PatchType::kJsonPatch: return "application/json-patch+json";
  }
  UNREACHABLE();
}

/// True if sending the request twice has the same effect as once.
bool IsIdempotent(const std::string& method) {
  return method == "GET" || method == "PUT" || method == "DELETE";
}

/// Time before attempt number `tries` + 1; nullopt: do not repeat.
/// Source: client-go rest withRetry.
std::optional<Duration> WaitBeforeRetry(const Request& request, const StatusOr<Response>& answer,
                                        int tries) {
  if (!answer.ok()) {
    const bool broken = answer.status().code() == StatusCode::kUnavailable;
    if (broken && tries == 1 && IsIdempotent(request.method)) return Duration{0};
    return std::nullopt;
  }
  const bool asked_to = answer->code == 429 || answer->code >= 500;
  return asked_to && tries <= kMaxRetries ? answer->retry_after : std::nullopt;
}

}  // namespace

Client::Client(const Clock& clock, Transport& transport, Options options)
    : clock_(clock), transport_(transport), options_(std::move(options)) {}

Status Client::Get(const std::string& path, Message* into, const Deadline& deadline) {
  return Exchange({.method = "GET", .path = path}, into, deadline);
}

Status Client::Create(const std::string& path, const Content& content, Message* into,
                      const Deadline& deadline) {
  return Exchange({.method = "POST",
                   .path = path,
                   .content_type = std::string(MimeOf(options_.content)),
                   .body = EncodeObject(options_.content, content)},
                  into, deadline);
}

Status Client::Update(const std::string& path, const Content& content, Message* into,
                      const Deadline& deadline) {
  return Exchange({.method = "PUT",
                   .path = path,
                   .content_type = std::string(MimeOf(options_.content)),
                   .body = EncodeObject(options_.content, content)},
                  into, deadline);
}

Status Client::Patch(const std::string& path, PatchBody patch, Message* into,
                     const Deadline& deadline) {
  return Exchange({.method = "PATCH",
                   .path = path,
                   .content_type = std::string(PatchMime(patch.type)),
                   .body = std::move(patch.json)},
                  into, deadline);
}

Status Client::Delete(const std::string& path, const Preconditions& preconditions,
                      const Deadline& deadline) {
  k8s::io::apimachinery::pkg::apis::meta::v1::DeleteOptions how;
  if (!preconditions.uid.empty()) how.mutable_preconditions()->set_uid(preconditions.uid);
  if (preconditions.grace_period_seconds >= 0)
    how.set_grace_period_seconds(preconditions.grace_period_seconds);
  // In JSON these options fit every API group.
  return Exchange({.method = "DELETE",
                   .path = path,
                   .content_type = std::string(kJsonType),
                   .body = EncodeObject(ContentType::kJson, {"v1", "DeleteOptions", how})},
                  nullptr, deadline);
}

Status Client::Exchange(Request request, Message* into, const Deadline& deadline) {
  FAIL_POINT("apiclient.call.before");
  request.accept = AcceptOf(options_.content);
  const auto answer = Call(request, deadline);
  if (!answer.ok()) return answer.status();
  FAIL_POINT("apiclient.call.after");
  const Status status = StatusOf(*answer);
  if (!status.ok()) return status;
  return into == nullptr ? CheckObject(*answer) : ReadObject(*answer, *into);
}

StatusOr<Response> Client::Call(const Request& request, const Deadline& deadline) {
  for (int tries = 1;; ++tries) {
    if (options_.limiter != nullptr) {
      const auto begun = clock_.Now();
      const Status turn = options_.limiter->Wait(deadline);
      if (options_.metrics != nullptr)
        options_.metrics->NoteLimited(request.method, transport_.host(), clock_.Now() - begun);
      if (!turn.ok()) return turn;
    }
    auto answer = Ask(request, deadline);
    const auto wait = WaitBeforeRetry(request, answer, tries);
    if (!wait || *wait >= Remaining(clock_, deadline)) return answer;
    if (*wait > Duration{0} && !Pause(clock_, options_.wait, *wait, deadline))
      return Cancelled("given up");
    if (options_.metrics != nullptr)
      options_.metrics->NoteRetry(request.method, transport_.host(),
                                  answer.ok() ? answer->code : 0);
  }
}

StatusOr<Response> Client::Ask(const Request& request, const Deadline& deadline) {
  const auto begun = clock_.Now();
  const auto answer =
      std::make_shared<Answer>();  // an answer may come after the caller has given up
  transport_.Begin(request, deadline,
                   [answer](StatusOr<Response> value) { answer->Put(std::move(value)); });
  answer->gate.Wait(clock_, options_.wait, deadline.at + kPatience);
  auto taken = answer->Take();
  if (options_.metrics != nullptr)
    options_.metrics->NoteCall({.method = request.method,
                                .host = transport_.host(),
                                .code = taken.ok() ? taken->code : 0,
                                .took = clock_.Now() - begun,
                                .sent_bytes = request.body.size(),
                                .received_bytes = taken.ok() ? taken->body.size() : 0});
  return taken;
}

std::string Escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      escaped += c;
    } else {
      escaped += '%';
      escaped += kHex[static_cast<unsigned char>(c) >> 4];
      escaped += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  return escaped;
}

}  // namespace splitlet::apiclient
