#pragma once

/// Sends reviews of one kind to the API server, off the loop: a few at a time, each for at most 30
/// s. It repeats a review while the server is busy or unreachable.
/// In:    reviews from the authenticator, or from the authorizer. Each has its own
///        ReviewCalls, so that unauthenticated clients cannot use up the authorizer's.
/// Owns:  the number of waiting reviews.
/// Out:   calls to the reviewer, on strands of their own; answers on the loop.
/// Killed at any line: clients repeat their requests.
/// Threads: loop thread; the reviewer on strands.
/// Errors: FAILED_PRECONDITION without an API server; RESOURCE_EXHAUSTED when too many wait;
/// DEADLINE_EXCEEDED.
/// Source: docs/behaviour/node-api.md, "Authentication".

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/exec/ask.h"
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
    uint64_t seed = 0;                   // seed of the jitter between attempts
    const char* kind = "review";         // prefix of the strands' names
  };
  static constexpr int kMaxWaiting = 128, kLanes = 4, kAttempts = 5;
  static constexpr Duration kAttemptLimit = std::chrono::seconds{10};
  static constexpr Duration kLimit = std::chrono::seconds{30};  // including waiting and pauses

  explicit ReviewCalls(Deps deps)
      : deps_(std::move(deps)), random_(deps_.seed), asker_(deps_.loop, deps_.strands) {}
  ReviewCalls(const ReviewCalls&) = delete;
  ReviewCalls& operator=(const ReviewCalls&) = delete;

  template <class R>
  using Call = std::function<StatusOr<R>(Reviewer& reviewer, const Deadline& deadline)>;
  template <class R>
  using Done = std::function<void(StatusOr<R> answer)>;

  /// Calls `done` on the loop, once, possibly before this returns.
  template <class R>
  void Ask(Call<R> call, Done<R> done) {
    if (deps_.reviewer == nullptr)
      return done(FailedPrecondition("this node has no API server to ask"));
    if (waiting_ >= kMaxWaiting)
      return done(ResourceExhausted("too many requests wait for the API server"));
    ++waiting_;
    const auto question =
        std::make_shared<Question<R>>(std::move(call), std::move(done), After(deps_.clock, kLimit));
    question->timer = asker_.RunAfter(kLimit, [this, question] { End<R>(question, Late()); });
    Try<R>(question);
  }
  int waiting() const { return waiting_; }

 private:
  template <class R>
  struct Question {
    Question(Call<R> c, Done<R> d, Deadline l)
        : call(std::move(c)), limit(std::move(l)), done(std::move(d)) {}
    const Call<R> call;
    const Deadline limit;
    // Used on the loop only:
    Done<R> done;  // null: answered
    exec::TimerId timer = 0;
    int attempts = 0;
  };
  template <class R>
  using Shared = std::shared_ptr<Question<R>>;

  template <class R>
  void Try(const Shared<R>& question) {
    if (!question->done) return;
    ++question->attempts;
    const std::string lane = fmt::format("{}/{}", deps_.kind, lane_ = (lane_ + 1) % kLanes);
    asker_.Ask(
        lane,
        [&clock = deps_.clock, reviewer = deps_.reviewer, question]() -> StatusOr<R> {
          const Duration left = std::min(kAttemptLimit, Remaining(clock, question->limit));
          if (left <= Duration{0}) return Late();
          return question->call(*reviewer, After(clock, left));
        },
        [this, question](const StatusOr<R>& answer) { OnAnswer<R>(question, answer); });
  }
  template <class R>
  void OnAnswer(const Shared<R>& question, const StatusOr<R>& answer) {
    if (!question->done) return;
    if (answer.ok() || !IsRetryable(answer.status().code()) || question->attempts >= kAttempts)
      return End<R>(question, answer);
    asker_.RunAfter(random_.Jitter(PauseAfter(question->attempts), 0.2),
                    [this, question] { Try<R>(question); });
  }
  template <class R>
  void End(const Shared<R>& question, const StatusOr<R>& answer) {
    deps_.loop.CancelTimer(question->timer);
    --waiting_;
    std::exchange(question->done, nullptr)(answer);
  }
  static Status Late() { return DeadlineExceeded("the API server did not answer in time"); }
  static Duration PauseAfter(int attempts) {
    return std::chrono::milliseconds(std::lround(500 * std::pow(1.5, attempts - 1)));
  }

  Deps deps_;
  Random random_;
  int waiting_ = 0, lane_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
