#pragma once

/// Answers that a test sets.
/// Threads: any.
/// Errors: those the test sets.

#include <mutex>

#include "services/config-source/sources/http/http_fetcher.h"

namespace splitlet::config_source {

class FakeHttpFetcher final : public HttpFetcher {
 public:
  /// From the next call on.
  void Answer(StatusOr<HttpReply> reply) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  void AnswerBody(std::string body) { Answer(HttpReply{200, "200 OK", std::move(body)}); }
  HttpRequest last_request() const {
    const std::lock_guard lock(mutex_);
    return request_;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  StatusOr<HttpReply> Get(const HttpRequest& request, Deadline /*deadline*/) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    request_ = request;
    if (reply_.ok() && reply_->body.size() >= request.max_bytes)
      return ResourceExhausted("the read limit is reached");
    return reply_;
  }

 private:
  mutable std::mutex mutex_;
  StatusOr<HttpReply> reply_ = Unavailable("no answer");
  HttpRequest request_;
  int calls_ = 0;
};

}  // namespace splitlet::config_source
