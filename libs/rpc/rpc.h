#pragma once

/// gRPC between the processes of one node, on unix sockets <run>/<process>/rpc.sock. Server: peers
/// checked by SO_PEERCRED, threads bounded. Channel: quick reconnects, deadlines, each call a span.
/// Threads: see each function. Handlers run on gRPC's threads and enter the loop by OnLoop().
/// Errors: gRPC codes, kept in both directions.
/// Source: docs/design.md, "The calls"; docs/libraries.md, "gRPC".

#include <functional>
#include <future>
#include <memory>

#include "libs/base/status.h"
#include "libs/exec/exec.h"
#include "libs/rpc/client.h"
#include "libs/rpc/convert.h"
#include "libs/rpc/server.h"

namespace grpc {
class ServerContext;
}

namespace splitlet::rpc {

/// Runs `f` on the loop and waits for it on this (gRPC) thread: so a handler reaches the state. The
/// loop never waits for a handler, so this cannot deadlock. UNAVAILABLE if the loop does not answer
/// within `limit`.
template <class R>
StatusOr<R> OnLoop(exec::EventLoop& loop, Duration limit, std::function<StatusOr<R>()> f) {
  auto promise = std::make_shared<std::promise<StatusOr<R>>>();
  auto future = promise->get_future();
  loop.Post([promise, f = std::move(f)] { promise->set_value(f()); });
  if (future.wait_for(limit) != std::future_status::ready)
    return Unavailable("the event loop does not answer");
  return future.get();
}

/// OnLoop for a later answer: `f` gets `done` and calls it once, from any thread.
template <class R>
StatusOr<R> OnLoopLater(exec::EventLoop& loop, Duration limit,
                        std::function<void(std::function<void(StatusOr<R>)> done)> f) {
  auto promise = std::make_shared<std::promise<StatusOr<R>>>();
  auto future = promise->get_future();
  loop.Post([promise, f = std::move(f)] {
    f([promise](StatusOr<R> r) { promise->set_value(std::move(r)); });
  });
  if (future.wait_for(limit) != std::future_status::ready) return Unavailable("no answer in time");
  try {
    return future.get();
  } catch (const std::future_error&) {
    return Unavailable("the process ends");  // `done` was dropped without a call
  }
}

}  // namespace splitlet::rpc
