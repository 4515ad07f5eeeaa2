#pragma once

/// A connection to nats-server that comes back by itself. One thread of its own makes every call
/// that may block, so that a stopped or slow server never holds up who publishes. Threads: Publish,
/// Subscribe and connected from any, none blocks; events come on other threads. Errors: the server
/// being away is no error; what the server refuses is told by an event. At the bound of the queue a
/// message is dropped. Source: BUILD-NOTES 11 to 13.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libs/bus/nats_handles.h"

namespace splitlet::bus {

struct LinkOptions {
  std::string url;
  std::string user, password;  // empty: none
  std::string name;            // shown by the server; also of the inboxes
};

struct LinkEvents {
  std::function<void(std::string_view subject, std::string_view bytes)> message;
  /// True: connected, and all subscriptions so far are with the server. Comes again after new
  /// subscriptions.
  std::function<void(bool connected)> connection;
  /// Something was refused (`permission`) or went wrong.
  std::function<void(const std::string& text, bool permission)> error;
  /// Messages to us were dropped because they came faster than they were taken.
  std::function<void()> lost;
};

class NatsLink {
 public:
  NatsLink(LinkOptions options, LinkEvents events);
  /// No event runs after this returned.
  ~NatsLink();
  NatsLink(const NatsLink&) = delete;
  NatsLink& operator=(const NatsLink&) = delete;

  /// What became of a message: it waits to be sent, or was dropped because there is no connection,
  /// or because too many wait.
  enum class Taken { kQueued, kAway, kFull };
  Taken Publish(std::string subject, std::string bytes);
  void Subscribe(const std::string& subject);
  bool connected() const;

 private:
  struct Message {
    std::string subject, bytes;
  };
  void Run();
  /// What the thread has to do next; waits for it.
  enum class Work { kStop, kConnect, kSettle, kPublish };
  Work NextWork();
  void Connect();
  void Disconnect();
  void Settle();
  void PublishQueued();
  NatsOptions MakeOptions();
  natsStatus MakeSubscription(const std::string& subject, NatsSubscription& subscription);
  void Dropped();
  void CameUp();

  static void OnMessage(natsConnection*, natsSubscription*, natsMsg* raw, void* self);
  static void OnUp(natsConnection*, void* self);
  static void OnDown(natsConnection*, void* self);
  static void OnClosed(natsConnection*, void* self);
  static void OnError(natsConnection* connection, natsSubscription*, natsStatus error, void* self);
  static void OnSubscriptionDone(void* self);

  static constexpr size_t kMaxQueued = 8192;
  static constexpr size_t kMaxQueuedBytes = 8u << 20;

  const LinkOptions options_;
  const LinkEvents events_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Message> queue_;
  size_t queued_bytes_ = 0;
  std::map<std::string, bool> subjects_;  // with the server (or its next start) already?
  bool stopping_ = false;
  bool unsettled_ = false;  // connected or subscribed since the last flush
  bool connected_ = false;  // as told by the last event
  bool closed_ = true;      // no connection, or it gave up
  uint64_t drops_ = 0;      // connections lost
  int open_subscriptions_ = 0;

  // Of the thread alone.
  NatsConnection connection_;
  std::map<std::string, NatsSubscription> subscriptions_;
  int64_t wait_ms_ = 0;  // before the next Connect
  std::thread thread_;
};

}  // namespace splitlet::bus
