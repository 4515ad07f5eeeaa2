#pragma once

/// A connection to nats-server that reconnects by itself, over TLS. An own thread makes every
/// blocking call, so that a slow server never delays a publisher. Each connection reads the CA's
/// file again, so that replaced keys count. The password goes only to a server that has proved its
/// identity.
/// Threads: Publish, Subscribe, connected from any, none blocks; events come on other threads.
/// Errors: events report what the server refuses and why it is not trusted. An unreachable server
/// is no error. A full queue drops messages.
/// Source: docs/libraries.md, "NATS"; docs/decisions/bus-tls.md.

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

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/nats_handles.h"
#include "libs/bus/reconnect_wait.h"

namespace splitlet::bus {

struct LinkOptions {
  std::string url;
  std::string user, password;  // empty: none
  std::string name;            // shown by the server; part of the inboxes' names
  std::string ca_file;         // signs the server's certificate; empty: no TLS, on loopback only
};

/// "SSL Error: certificate verify failed": with the library's last error of this thread.
std::string TextOf(natsStatus status);

enum class LinkError {
  kOther,
  kRefused,    // the server refuses the login or a subject
  kUntrusted,  // the server cannot prove that it is the bus of this installation
};

struct LinkEvents {
  std::function<void(std::string_view subject, std::string_view bytes)> message;
  /// True: connected, and the server has all subscriptions so far. Called again after new
  /// subscriptions.
  std::function<void(bool connected)> connection;
  std::function<void(LinkError kind, const std::string& text)> error;
  /// Messages were dropped because they came faster than they were taken.
  std::function<void()> lost;
};

class NatsLink {
 public:
  NatsLink(LinkOptions options, LinkEvents events, const Clock& clock);
  /// No event runs after the destructor.
  ~NatsLink();
  NatsLink(const NatsLink&) = delete;
  NatsLink& operator=(const NatsLink&) = delete;

  /// Fate of a message: queued, dropped without a connection, or dropped because too many wait.
  enum class Taken { kQueued, kAway, kFull };
  Taken Publish(std::string subject, std::string bytes);
  void Subscribe(const std::string& subject);
  bool connected() const;

 private:
  struct Message {
    std::string subject, bytes;
  };
  void Run();
  /// Waits for the thread's next work.
  enum class Work { kStop, kConnect, kSettle, kPublish };
  Work NextWork();
  void Connect();
  natsStatus TryConnect();
  void Disconnect();
  void Settle();
  void PublishQueued();
  NatsOptions MakeOptions();
  natsStatus MakeSubscription(const std::string& subject, NatsSubscription& subscription);
  void Dropped();

  static void OnMessage(natsConnection*, natsSubscription*, natsMsg* raw, void* self);
  static void OnDown(natsConnection*, void* self);
  static void OnClosed(natsConnection*, void* self);
  static void OnError(natsConnection* connection, natsSubscription*, natsStatus error, void* self);
  static void OnSubscriptionDone(void* self);

  static constexpr size_t kMaxQueued = 8192;
  static constexpr size_t kMaxQueuedBytes = 8u << 20;

  const LinkOptions options_;
  const LinkEvents events_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Message> queue_;
  size_t queued_bytes_ = 0;
  std::map<std::string, bool>
      subjects_;  // does the server (or its next start) have the subscription?
  bool stopping_ = false;
  bool unsettled_ = false;  // connected or subscribed since the last flush
  bool connected_ = false;  // of the last event
  bool closed_ = true;      // no connection, or it gave up
  uint64_t drops_ = 0;      // connections lost
  int open_subscriptions_ = 0;

  // Used by the thread alone.
  NatsConnection connection_;
  std::map<std::string, NatsSubscription> subscriptions_;
  ReconnectWait reconnect_;
  Clock::Time up_since_;  // of connection_
  Duration wait_{0};      // before the next Connect
  std::thread thread_;
};

}  // namespace splitlet::bus
