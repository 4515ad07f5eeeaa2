#include "services/pod-worker/api_objects/api_calls.h"

#include <google/protobuf/message.h>

#include <utility>

#include "libs/apiclient/client_metrics.h"

namespace splitlet::pod_worker {

namespace {

using Answer = StatusOr<apiclient::Response>;

Status Read(const Answer& answer, google::protobuf::Message& into) {
  if (!answer.ok()) return answer.status();
  if (Status status = apiclient::StatusOf(*answer); !status.ok()) return status;
  return apiclient::ReadObject(*answer, into);
}

}  // namespace

void ApiCalls::Get(const std::string& path, std::shared_ptr<Message> into, Done done) {
  Begin({.path = path, .accept = apiclient::AcceptOf(context_.content)}, std::move(into),
        std::move(done));
}

void ApiCalls::Post(const std::string& path, const apiclient::Content& content,
                    std::shared_ptr<Message> into, Done done) {
  Begin({.method = "POST",
         .path = path,
         .accept = apiclient::AcceptOf(context_.content),
         .content_type = std::string(apiclient::MimeOf(context_.content)),
         .body = apiclient::EncodeObject(context_.content, content)},
        std::move(into), std::move(done));
}

void ApiCalls::Begin(apiclient::Request request, std::shared_ptr<Message> into, Done done) {
  CHECK(context_.loop.IsCurrent());
  apiclient::ClientMetrics::Call call{.method = request.method,
                                      .host = context_.transport.host(),
                                      .sent_bytes = request.body.size()};
  const Clock::Time began = context_.clock.Now();
  auto answered = [this, began, call = std::move(call), into = std::move(into),
                   done = std::move(done)](const Answer& answer) mutable {
    call.took = context_.clock.Now() - began;
    call.code = answer.ok() ? answer->code : 0;
    call.received_bytes = answer.ok() ? answer->body.size() : 0;
    if (context_.metrics != nullptr) context_.metrics->NoteCall(call);
    done(Read(answer, *into));
  };
  auto& loop = context_.loop;  // outlives every call
  context_.transport.Begin(
      std::move(request), {began + kTimeout},
      [&loop, alive = std::weak_ptr<const bool>(alive_), answered](Answer answer) {
        if (alive.expired()) return;
        loop.Post([alive, answered, kept = std::make_shared<Answer>(std::move(answer))]() mutable {
          if (!alive.expired()) answered(*kept);
        });
      });
}

}  // namespace splitlet::pod_worker
