#pragma once

/// Brings an answer from any thread to the loop of its receiver.
/// Threads: AnswerOnLoop: the loop thread; the result: any thread, once.
/// Errors:  none; an answer to a receiver that is gone is dropped.
/// Source:  libs/exec/ask.h.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "libs/exec/ask.h"

namespace splitlet::plugins {

/// A callback that runs `f` with the answer on the loop, if the asker still exists.
template <class T, class F>
std::function<void(T)> AnswerOnLoop(exec::EventLoop& loop, const exec::Asker& asker, F f) {
  const auto slot = std::make_shared<std::optional<T>>();
  auto task = asker.Guard([slot, f = std::move(f)]() mutable { f(*std::move(*slot)); });
  return [&loop, slot, task = std::move(task)](T answer) {
    slot->emplace(std::move(answer));
    loop.Post(task);
  };
}

}  // namespace splitlet::plugins
