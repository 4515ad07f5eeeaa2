#pragma once

/// A connection to nats-server that comes back by itself, over TLS. One thread of its own makes
/// every call that may block, so that a slow server never holds up who publishes. Each connection
/// reads the CA's file anew, so that replaced keys count. A server that has not shown who it is
/// gets no password.
/// Threads: Publish, Subscribe, connected from any, none blocks; events come on other threads.
/// Errors: events say what the server refuses and why it is not trusted; one that is away is none.
/// At the bound of the queue a message is dropped.
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
  std::string name;            // shown by the server; also of the inboxes
  std::string ca_file;         // who signs the server; empty: no TLS, on loopback only
};

/// What the connections of all clients have in common: whom they trust. INVALID_ARGUMENT, naming
/// the file, for a CA that cannot be read; for no CA, and a server that is not on loopback.
Status SetTrust(natsOptions& options, const std::string& url, const std::string& ca_file);

/// "SSL Error: certificate verify failed": also what the library keeps for itself of the call of
/// this thread that failed last.
std::string TextOf(natsStatus status);

enum class LinkError {
  kOther,
  kRefused,    // the server does not let us in, or forbids something
  kUntrusted,  // it cannot show that it is the bus of this installation
};

struct LinkEvents {
  std::function<void(std::string_view subject, std::string_view bytes)> message;
  /// True: connected, and all subscriptions so far are with the server. Comes again after new
  /// subscriptions.
  std::function<void(bool connected)> connection;
  std::function<void(LinkError kind, const std::string& text)> error;
  /// Messages to us were dropped because they came faster than they were taken.
  std::function<void()> lost;
};

class NatsLink {
 public:
  NatsLink(LinkOptions options, LinkEvents events, const Clock& clock);
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
  ReconnectWait reconnect_;
  Clock::Time up_since_;  // of connection_
  Duration wait_{0};      // before the next Connect
  std::thread thread_;
};

}  // namespace splitlet::bus
