#pragma once

/// Runs a function on a loop that has a thread of its own, and waits. A stopped loop never answers.
/// Threads: any but the loop's.

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "libs/exec/exec.h"

namespace splitlet::exec {

/// Ready when `f` has run.
inline std::future<void> PostTo(EventLoop& loop, std::function<void()> f) {
  // Shared: the loop is still inside set_value when the wait ends.
  const auto done = std::make_shared<std::promise<void>>();
  loop.Post([f = std::move(f), done] {
    f();
    done->set_value();
  });
  return done->get_future();
}

inline void OnLoop(EventLoop& loop, const std::function<void()>& f) { PostTo(loop, f).wait(); }

}  // namespace splitlet::exec
