#pragma once

/// Questions to the API server off the loop: a few at a time, again when it is busy or away.
/// In:    questions of authenticator and authorizer.
/// Owns:  how many wait.
/// Out:   calls to the reviewer, on strands of their own; answers on the loop.
/// Killed at any line: who asked asks again.
/// Threads: loop thread; the reviewer on strands.
/// Errors: FAILED_PRECONDITION without an API server; RESOURCE_EXHAUSTED when too many wait.
/// Source: docs/behaviour/node-api.md, "Authentication".

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/exec/exec.h"
#include "services/node-api/auth/reviewer.h"

namespace splitlet::node_api {

class ReviewCalls {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<Reviewer> reviewer;  // null: there is no API server
    uint64_t seed = 0;                   // of the jitter between tries
  };
  static constexpr int kMaxWaiting = 256, kLanes = 8, kTries = 5;
  static constexpr Duration kTryLimit = std::chrono::seconds{10};

  explicit ReviewCalls(Deps deps) : deps_(std::move(deps)), random_(deps_.seed) {}

  template <class R>
  using Call = std::function<StatusOr<R>(Reviewer& reviewer, const Deadline& deadline)>;
  template <class R>
  using Done = std::function<void(StatusOr<R> answer)>;

  /// `done` on the loop, once, also before this returns.
  template <class R>
  void Ask(Call<R> call, Done<R> done) {
    if (deps_.reviewer == nullptr)
      return done(FailedPrecondition("this node has no API server that could be asked"));
    if (waiting_ >= kMaxWaiting)
      return done(ResourceExhausted("too many ask for what the API server has to be asked"));
    ++waiting_;
    Try<R>(std::move(call), std::move(done), 1);
  }
  int waiting() const { return waiting_; }

 private:
  template <class R>
  void Try(Call<R> call, Done<R> done, int number) {
    const std::string lane = fmt::format("review/{}", lane_ = (lane_ + 1) % kLanes);
    deps_.strands.Run(lane, [this, call, done, number] {
      auto answer = call(*deps_.reviewer, After(deps_.clock, kTryLimit));
      deps_.loop.Post([this, call, done, number, answer = std::move(answer)] {
        OnAnswer<R>(call, done, number, answer);
      });
    });
  }
  template <class R>
  void OnAnswer(const Call<R>& call, const Done<R>& done, int number, StatusOr<R> answer) {
    if (answer.ok() || !IsRetryable(answer.status().code()) || number >= kTries) {
      --waiting_;
      return done(std::move(answer));
    }
    deps_.loop.RunAfter(random_.Jitter(PauseAfter(number), 0.2),
                        [this, call, done, number] { Try<R>(call, done, number + 1); });
  }
  static Duration PauseAfter(int number) {
    return std::chrono::milliseconds(std::lround(500 * std::pow(1.5, number - 1)));
  }

  Deps deps_;
  Random random_;
  int waiting_ = 0, lane_ = 0;
};

}  // namespace splitlet::node_api
