#pragma once

/// Blocking work on a strand, and its result on the loop of the owner that asked.
///   asker_.Ask("file/" + uid, [=] { return store->Save(uid, bytes); },
///              [this, uid](const Status& saved) { OnSaved(uid, saved); });
/// The rule of lifetime: `work` runs on another thread, also when the owner is gone, so it captures
/// values and objects that outlive the strands, never the owner. `then` runs on the loop thread,
/// only while the Asker exists, so it may capture the owner, whose last member is the Asker.
/// Threads: the loop thread, for the Asker's construction, calls and destruction.
/// Errors:  none of its own; `then` gets the result of `work`.
/// Source:  docs/design.md, "Threads and time".

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "libs/exec/exec.h"

namespace splitlet::exec {

class Asker {
 public:
  /// The loop and the strands outlive the Asker; the loop outlives the tasks of the strands.
  Asker(EventLoop& loop, Strands& strands) : loop_(loop), strands_(strands) {}
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// Runs `work` on the strand of `key`, then `then` with its result. Without a result `then` takes
  /// no argument.
  template <class Work, class Then>
  void Ask(const std::string& key, Work work, Then then) const {
    strands_.Run(key, [&loop = loop_, alive = std::weak_ptr(alive_), work = std::move(work),
                       then = std::move(then)]() mutable {
      using Result = std::invoke_result_t<Work&>;
      if constexpr (std::is_void_v<Result>) {
        work();
        loop.Post(Guarded(alive, std::move(then)));
      } else {
        // Shared, because a task is copied.
        loop.Post(Guarded(alive, [result = std::make_shared<Result>(work()),
                                  then = std::move(then)]() mutable { then(std::move(*result)); }));
      }
    });
  }
  /// Runs `task` on the loop after `delay`, if the Asker still exists then.
  TimerId RunAfter(Duration delay, Task task) const {
    return loop_.RunAfter(delay, Guard(std::move(task)));
  }
  /// A task that does nothing once the Asker is gone.
  template <class F>
  Task Guard(F f) const {
    return Guarded(alive_, std::move(f));
  }
  /// A callback for any thread: it posts `f` with its arguments to the loop, where `f` runs if the
  /// Asker still exists.
  template <class... Args, class F>
  std::function<void(const Args&...)> Posted(F f) const {
    return [&loop = loop_, alive = std::weak_ptr(alive_), f = std::move(f)](const Args&... args) {
      loop.Post(Guarded(alive, [f, args...] { f(args...); }));
    };
  }

 private:
  template <class F>
  static Task Guarded(std::weak_ptr<const bool> alive, F f) {
    return [alive = std::move(alive), f = std::move(f)]() mutable {
      if (!alive.expired()) f();
    };
  }

  EventLoop& loop_;
  Strands& strands_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace splitlet::exec
