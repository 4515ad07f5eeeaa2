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
  explicit FakeDesiredOwner(Answer answer) : answer_(std::move(answer)) {}
  StatusOr<bool> Knows(const std::string& uid, const Deadline& deadline) override {
    return answer_(uid, deadline);
  }

 private:
  Answer answer_;
};

}  // namespace splitlet::bus
