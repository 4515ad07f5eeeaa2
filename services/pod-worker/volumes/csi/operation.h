#pragma once

/// A chain of questions to drivers, the API server and the disk that holds no thread. Advance reads
/// from top to bottom: it asks each question once, returns while the answer is missing, and is
/// called again when the answer has come.
/// Threads: the loop's; an answer may come on any thread.
/// Killed:  the answers are lost; files and the driver show how far the operation came.
/// Source:  docs/design.md, "Threads and time".

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/csi/call_errors.h"
#include "libs/exec/env.h"
#include "services/pod-worker/volumes/volume_step.h"

namespace splitlet::pod_worker {

/// The end of an operation.
struct Outcome {
  Status status;
  csi::ErrorClass error_class = csi::ErrorClass::kFinal;  // of an error
  VolumeStep step = VolumeStep::kSetUp;                   // of an error
  bool silent = false;                                    // an error that is no event of a pod
};

/// A question that an operation asks once.
template <class T>
struct Question {
  bool asked = false;
  std::optional<T> answer = std::nullopt;
};

class Operation {
 public:
  struct Host {
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::string strand;             // for its files
    std::function<void()> advance;  // an answer has come; may destroy the operation
  };
  explicit Operation(Host host) : host_(std::move(host)) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  /// Empty: an answer is missing.
  virtual std::optional<Outcome> Advance() = 0;

 protected:
  /// True: the answer is there. `begin` gets a function that takes the answer.
  template <class T, class Begin>
  bool Ask(Question<T>& question, Begin begin) {
    if (std::exchange(question.asked, true)) return question.answer.has_value();
    begin([this, &loop = host_.loop, alive = std::weak_ptr(alive_), &question](T answer) {
      loop.Post([this, alive, &question, kept = std::make_shared<T>(std::move(answer))] {
        if (alive.expired()) return;
        question.answer = std::move(*kept);
        const auto advance = host_.advance;
        advance();
      });
    });
    return false;
  }
  /// Runs `work` on the strand. It must not use the operation.
  template <class T, class Work>
  bool AskFiles(Question<T>& question, Work work) {
    return Ask(question, [this, &work](auto answer) {
      host_.strands.Run(host_.strand, [work = std::move(work), answer] { answer(work()); });
    });
  }

 private:
  const Host host_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

/// An error of something other than the driver.
inline Outcome Failed(csi::ErrorClass error_class, VolumeStep step, Status status) {
  return {.status = std::move(status), .error_class = error_class, .step = step};
}

}  // namespace splitlet::pod_worker
