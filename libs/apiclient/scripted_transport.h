#pragma once

/// A transport whose answers a test supplies request by request.
/// Threads: one.

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/base/cancel.h"

namespace splitlet::apiclient {

class ScriptedTransport final : public Transport {
 public:
  struct Asked {
    Request request;
    Deadline deadline;
    OnData on_data;  // only for a stream
    Done done;
    bool given_up() const { return deadline.cancel != nullptr && deadline.cancel->cancelled(); }
  };
  std::deque<StatusOr<Response>> answers;  // given immediately, in order
  std::vector<Asked> asked;                // oldest first

  void Begin(Request request, Deadline deadline, Done done) override {
    asked.push_back({std::move(request), std::move(deadline), nullptr, std::move(done)});
    if (answers.empty()) return;
    auto answer = std::move(answers.front());
    answers.pop_front();
    asked.back().done(std::move(answer));
  }
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override {
    asked.push_back({std::move(request), std::move(deadline), std::move(on_data), std::move(done)});
  }
  std::string host() const override { return "server:6443"; }
};

inline Response Answered(int code, std::string body = {}) {
  return {.code = code, .content_type = "application/json", .body = std::move(body)};
}
inline Response Asking(int code, Duration retry_after) {
  return {.code = code, .retry_after = retry_after};
}

}  // namespace splitlet::apiclient
