#pragma once

/// A responder that keeps its answer, for tests.
/// Threads: one.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/https/server.h"

namespace splitlet::node_api {

struct Answered {
  std::optional<https::Answer> answer;  // for a stream, its head
  std::optional<https::Backend> backend;
  std::string streamed;
  size_t writes = 0;  // number of streamed writes
  bool streams = false, ended = false, known = false;
  std::function<void()> gone;
  std::string Header(std::string_view name) const {
    if (answer)
      for (const auto& [key, value] : answer->headers)
        if (key == name) return value;
    return "";
  }
};

class FakeStream final : public https::Stream {
 public:
  explicit FakeStream(std::shared_ptr<Answered> answered) : answered_(std::move(answered)) {}
  bool Write(std::string_view bytes) override {
    answered_->streamed += bytes;
    ++answered_->writes;
    return true;
  }
  bool WaitForRoom(size_t) override { return true; }
  void End() override { answered_->ended = true; }
  bool gone() const override { return false; }

 private:
  const std::shared_ptr<Answered> answered_;
};

class FakeResponder final : public https::Responder {
 public:
  explicit FakeResponder(std::shared_ptr<Answered> answered) : answered_(std::move(answered)) {}
  void SetKnown() override { answered_->known = true; }
  void OnGone(std::function<void()> gone) override { answered_->gone = std::move(gone); }
  void Send(https::Answer answer) override {
    CHECK(!answered_->answer, "answered twice");
    if (answer.shared_body != nullptr) answer.body = *answer.shared_body;
    answered_->answer = std::move(answer);
  }
  std::shared_ptr<https::Stream> Begin(https::Answer head) override {
    Send(std::move(head));
    answered_->streams = true;
    return std::make_shared<FakeStream>(answered_);
  }
  void PassTo(https::Backend backend) override { answered_->backend = std::move(backend); }

 private:
  const std::shared_ptr<Answered> answered_;
};

}  // namespace splitlet::node_api
