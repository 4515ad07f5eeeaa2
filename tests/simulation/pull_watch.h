#pragma once

/// Checks the pulls of one pod-worker: an image is pulled once at a time, for all pods that wait
/// for it.
/// Threads: one.
/// Errors: reported.
/// Source: docs/behaviour/images.md, "Pulls".

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/cancel.h"

namespace splitlet::simulation {

class PullWatch {
 public:
  explicit PullWatch(std::function<void(const std::string&)> report) : report_(std::move(report)) {}
  /// Returns the pull's number. `given_up`: may be null; a pull that no pod waits for no longer
  /// counts.
  int Begin(const std::string& image, std::shared_ptr<CancelToken> given_up) {
    for (const auto& [number, pull] : pulls_)
      if (pull.image == image && (pull.given_up == nullptr || !pull.given_up->cancelled()))
        report_(fmt::format("{} is pulled while it is being pulled", image));
    pulls_[++last_] = {image, std::move(given_up)};
    return last_;
  }
  void End(int number) { pulls_.erase(number); }

 private:
  struct Pull {
    std::string image;
    std::shared_ptr<CancelToken> given_up;
  };
  std::function<void(const std::string&)> report_;
  std::map<int, Pull> pulls_;
  int last_ = 0;
};

}  // namespace splitlet::simulation
