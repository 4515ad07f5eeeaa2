#include "services/pod-worker/objects/api_calls.h"

#include <google/protobuf/message.h>

#include <utility>

#include "libs/apiclient/client.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kAccept = "application/vnd.kubernetes.protobuf,application/json";

Status Read(const StatusOr<apiclient::Response>& answer, google::protobuf::Message& into) {
  if (!answer.ok()) return answer.status();
  if (Status status = apiclient::StatusOf(*answer); !status.ok()) return status;
  return apiclient::ReadObject(*answer, into);
}

}  // namespace

void ApiCalls::Get(const std::string& path, std::shared_ptr<Message> into, Done done) {
  Begin({.path = path, .accept = kAccept}, std::move(into), std::move(done));
}

void ApiCalls::Post(const std::string& path, std::string json, std::shared_ptr<Message> into,
                    Done done) {
  Begin({.method = "POST",
         .path = path,
         .accept = kAccept,
         .content_type = "application/json",
         .body = std::move(json)},
        std::move(into), std::move(done));
}

void ApiCalls::Begin(apiclient::Request request, std::shared_ptr<Message> into, Done done) {
  CHECK(deps_.loop.IsCurrent());
  auto& loop = deps_.loop;  // outlives every call
  const std::weak_ptr<const bool> alive = alive_;
  deps_.transport.Begin(
      std::move(request), After(deps_.clock, kTimeout),
      [&loop, alive, into, done = std::move(done)](StatusOr<apiclient::Response> answer) {
        auto kept = std::make_shared<StatusOr<apiclient::Response>>(std::move(answer));
        loop.Post([alive, into, done, kept] {
          if (!alive.expired()) done(Read(*kept, *into));
        });
      });
}

}  // namespace splitlet::pod_worker
