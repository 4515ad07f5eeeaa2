#pragma once

/// State that a server shares with its connections, until the last connection is gone.
/// Threads: Post and the counters from any, the rest on the server's.
/// Errors:  none.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "libs/https/server.h"
#include "libs/https/unsent_bodies.h"

namespace splitlet::https {

class Connection;

struct Core {
  Core(ServerOptions o, Handler h) : options(std::move(o)), handler(std::move(h)) {}

  /// Runs the task on the server's thread, or never if the server has stopped.
  void Post(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    if (!ended) boost::asio::post(context, std::move(task));
  }
  /// The thread's function: runs until no work is left.
  void Run() {
    context.run();
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    context.restart();
    context.poll();
  }

  const ServerOptions options;
  const Handler handler;
  boost::asio::io_context context{1};
  boost::asio::steady_timer grace{context};            // runs while the server stops
  std::list<std::shared_ptr<Connection>> connections;  // the oldest first
  std::shared_ptr<const ClientAuthority> authority;
  size_t unread_bytes = 0;  // bytes of unanswered requests, on all connections
  UnsentBodies unsent;
  uint64_t last_body = 0;  // last number in `unsent`; numbers follow the order of their start
  size_t tunnels = 0;
  bool stopping = false;
  std::atomic<size_t> count{0};  // number of connections
  std::atomic<uint64_t> displaced{0};
  std::mutex mutex;
  bool ended = false;  // guarded by mutex
};

}  // namespace splitlet::https
