#pragma once

/// A fake of config-source's answers for a test. The test decides about threads and errors.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libs/peers/desired_owner.h"

namespace splitlet::peers {

class FakeDesiredOwner final : public DesiredOwner {
 public:
  using Answer = std::function<StatusOr<bool>(const std::string& uid, const Deadline& deadline)>;
  using Finder = std::function<StatusOr<Record>(const std::string& uid, const Deadline& deadline)>;
  /// `sources` records the source of each call of Knows.
  explicit FakeDesiredOwner(Answer answer, Finder finder = nullptr,
                            std::vector<std::string>* sources = nullptr)
      : answer_(std::move(answer)), finder_(std::move(finder)), sources_(sources) {}
  using DesiredOwner::Knows;
  StatusOr<bool> Knows(const std::string& uid, const std::string& source,
                       const Deadline& deadline) override {
    if (sources_ != nullptr) sources_->push_back(source);
    return answer_(uid, deadline);
  }
  StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) override {
    return finder_ ? finder_(uid, deadline) : Unavailable("no answer");
  }

 private:
  Answer answer_;
  Finder finder_;
  std::vector<std::string>* sources_;
};

}  // namespace splitlet::peers
