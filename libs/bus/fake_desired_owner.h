#pragma once

/// What config-source answers, in the hands of a test. Threads, errors: the test's affair.

#include <functional>
#include <string>
#include <utility>

#include "libs/bus/desired_owner.h"

namespace splitlet::bus {

class FakeDesiredOwner final : public DesiredOwner {
 public:
  using Answer = std::function<StatusOr<bool>(const std::string& uid, const Deadline& deadline)>;
  using Finder = std::function<StatusOr<Record>(const std::string& uid, const Deadline& deadline)>;
  explicit FakeDesiredOwner(Answer answer, Finder finder = nullptr)
      : answer_(std::move(answer)), finder_(std::move(finder)) {}
  StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) override {
    return answer_(uid, deadline);
  }
  StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) override {
    return finder_ ? finder_(uid, deadline) : Unavailable("nobody answers");
  }

 private:
  Answer answer_;
  Finder finder_;
};

}  // namespace splitlet::bus
