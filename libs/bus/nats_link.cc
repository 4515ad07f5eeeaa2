#include "libs/bus/nats_link.h"

#include <chrono>
#include <utility>

#include "libs/bus/nats_trust.h"

namespace splitlet::bus {
namespace {

constexpr int64_t kConnectTimeoutMs = 2000;
constexpr int64_t kFlushTimeoutMs = 2000;
constexpr int64_t kWriteDeadlineMs = 2000;
constexpr int64_t kPingIntervalMs = 2000;
constexpr int kMaxPendingMessages = 16384;
constexpr int kMaxPendingBytes = 16 << 20;
LinkError KindOf(natsStatus status) {
  if (status == NATS_NOT_PERMITTED || status == NATS_CONNECTION_AUTH_FAILED)
    return LinkError::kRefused;
  const bool untrusted = status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED ||
                         status == NATS_SECURE_CONNECTION_REQUIRED;
  return untrusted ? LinkError::kUntrusted : LinkError::kOther;
}

}  // namespace

std::string TextOf(natsStatus status) {
  std::string text = natsStatus_GetText(status);
  natsStatus last = NATS_OK;
  const char* detail = nats_GetLastError(&last);
  if (last == status && detail != nullptr && *detail != '\0') text += std::string(": ") + detail;
  return text;
}

NatsLink::NatsLink(LinkOptions options, LinkEvents events, const Clock& clock)
    : options_(std::move(options)),
      events_(std::move(events)),
      clock_(clock),
      reconnect_(RandomSeed()),
      thread_([this] { Run(); }) {}

NatsLink::~NatsLink() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

NatsLink::Taken NatsLink::Publish(std::string subject, std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!connected_) return Taken::kAway;
  if (queue_.size() >= kMaxQueued || queued_bytes_ + bytes.size() > kMaxQueuedBytes)
    return Taken::kFull;
  queued_bytes_ += bytes.size();
  queue_.push_back({std::move(subject), std::move(bytes)});
  if (queue_.size() == 1) wake_.notify_all();
  return Taken::kQueued;
}

void NatsLink::Subscribe(const std::string& subject) {
  const std::lock_guard lock(mutex_);
  if (!subjects_.try_emplace(subject, false).second) return;
  unsettled_ = true;
  wake_.notify_all();
}

bool NatsLink::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

void NatsLink::Run() {
  while (true) {
    switch (NextWork()) {
      case Work::kStop: Disconnect(); return;
      case Work::kConnect:
        Disconnect();
        Connect();
        break;
      case Work::kSettle: Settle(); break;
      case Work::kPublish: PublishQueued(); break;
    }
  }
}

NatsLink::Work NatsLink::NextWork() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || closed_ || unsettled_ || !queue_.empty(); });
  if (closed_) {
    if (connection_ != nullptr) wait_ = reconnect_.Next(clock_.Now() - up_since_);
    wake_.wait_for(lock, wait_, [this] { return stopping_; });
  }
  if (stopping_) return Work::kStop;
  if (closed_) return Work::kConnect;
  return unsettled_ ? Work::kSettle : Work::kPublish;
}

NatsOptions NatsLink::MakeOptions() {
  natsOptions* raw = nullptr;
  if (natsOptions_Create(&raw) != NATS_OK) return nullptr;
  NatsOptions made(raw);
  const std::string inbox = "_INBOX." + options_.name;
  const bool ok =
      natsOptions_SetURL(raw, options_.url.c_str()) == NATS_OK &&
      natsOptions_SetName(raw, options_.name.c_str()) == NATS_OK &&
      natsOptions_SetTimeout(raw, kConnectTimeoutMs) == NATS_OK &&
      natsOptions_SetAllowReconnect(raw, false) == NATS_OK &&
      natsOptions_SetMaxPendingMsgs(raw, kMaxPendingMessages) == NATS_OK &&
      natsOptions_SetPingInterval(raw, kPingIntervalMs) == NATS_OK &&
      natsOptions_SetMaxPingsOut(raw, 2) == NATS_OK &&
      natsOptions_SetWriteDeadline(raw, kWriteDeadlineMs) == NATS_OK &&
      natsOptions_SetSendAsap(raw, true) == NATS_OK &&
      natsOptions_SetNoEcho(raw, true) == NATS_OK &&
      natsOptions_SetCustomInboxPrefix(raw, inbox.c_str()) == NATS_OK &&
      natsOptions_UseGlobalMessageDelivery(raw, true) == NATS_OK &&
      natsOptions_SetDisconnectedCB(raw, &OnDown, this) == NATS_OK &&
      natsOptions_SetClosedCB(raw, &OnClosed, this) == NATS_OK &&
      natsOptions_SetErrorHandler(raw, &OnError, this) == NATS_OK &&
      (options_.user.empty() ||
       natsOptions_SetUserInfo(raw, options_.user.c_str(), options_.password.c_str()) == NATS_OK);
  if (!ok) return nullptr;
  return made;
}

/// The library's own reconnect would keep the old CA and hide the reason of a failure, so this
/// class reconnects itself.
void NatsLink::Connect() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = false;
  }
  const natsStatus status = TryConnect();
  if (status == NATS_OK) {
    up_since_ = clock_.Now();
    const std::lock_guard lock(mutex_);
    unsettled_ = true;
    return;
  }
  wait_ = reconnect_.Next(Duration{0});
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

natsStatus NatsLink::TryConnect() {
  const NatsOptions options = MakeOptions();
  if (options == nullptr) {
    events_.error(LinkError::kOther, "no memory for libnats");
    return NATS_NO_MEMORY;
  }
  if (const Status trust = SetTrust(*options, options_.url, options_.ca_file); !trust.ok()) {
    events_.error(LinkError::kUntrusted, "--nats-ca: " + splitlet::Message(trust));
    return NATS_INVALID_ARG;
  }
  natsConnection* raw = nullptr;
  const natsStatus status = natsConnection_Connect(&raw, options.get());
  connection_.reset(raw);
  const bool away = status == NATS_NO_SERVER || status == NATS_TIMEOUT || status == NATS_IO_ERROR;
  if (status != NATS_OK && !away) events_.error(KindOf(status), TextOf(status));
  return status;
}

void NatsLink::Disconnect() {
  Dropped();
  std::unique_lock lock(mutex_);
  for (auto& [subject, made] : subjects_) made = false;
  if (connection_ == nullptr) return;
  lock.unlock();
  natsConnection_Close(connection_.get());
  lock.lock();
  wake_.wait(lock, [this] { return closed_ && open_subscriptions_ == 0; });
  lock.unlock();
  // Only after the reading thread has ended: libnats 3.4 may still use a destroyed subscription.
  subscriptions_.clear();
  connection_.reset();
}

natsStatus NatsLink::MakeSubscription(const std::string& subject, NatsSubscription& subscription) {
  natsSubscription* raw = nullptr;
  const natsStatus status =
      natsConnection_Subscribe(&raw, connection_.get(), subject.c_str(), &OnMessage, this);
  if (status != NATS_OK) return status;
  subscription.reset(raw);
  {
    const std::lock_guard lock(mutex_);
    ++open_subscriptions_;
  }
  const natsStatus hooked = natsSubscription_SetOnCompleteCB(raw, &OnSubscriptionDone, this);
  if (hooked != NATS_OK) {
    const std::lock_guard lock(mutex_);
    --open_subscriptions_;
    return hooked;
  }
  return natsSubscription_SetPendingLimits(raw, kMaxPendingMessages, kMaxPendingBytes);
}

void NatsLink::Settle() {
  std::vector<std::string> missing;
  uint64_t drops = 0;
  {
    const std::lock_guard lock(mutex_);
    unsettled_ = false;
    drops = drops_;
    for (auto& [subject, made] : subjects_) {
      if (!std::exchange(made, true)) missing.push_back(subject);
    }
  }
  for (const auto& subject : missing) {
    const natsStatus status = MakeSubscription(subject, subscriptions_[subject]);
    if (status != NATS_OK)
      events_.error(LinkError::kOther, "subscribe " + subject + ": " + TextOf(status));
  }
  if (natsConnection_Status(connection_.get()) != NATS_CONN_STATUS_CONNECTED)
    return;  // OnClosed follows
  if (natsConnection_FlushTimeout(connection_.get(), kFlushTimeoutMs) != NATS_OK) {
    const std::lock_guard lock(mutex_);
    unsettled_ = drops == drops_;  // still the same connection: flush again
    return;
  }
  const std::lock_guard lock(mutex_);
  if (drops != drops_ || closed_) return;
  connected_ = true;
  events_.connection(true);
}

void NatsLink::PublishQueued() {
  std::deque<Message> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(queue_);
    queued_bytes_ = 0;
  }
  for (const auto& message : batch) {
    const natsStatus status =
        natsConnection_Publish(connection_.get(), message.subject.c_str(), message.bytes.data(),
                               static_cast<int>(message.bytes.size()));
    if (status == NATS_OK) continue;
    events_.error(LinkError::kOther, "publish: " + TextOf(status));
    return;
  }
}

void NatsLink::Dropped() {
  const std::lock_guard lock(mutex_);
  ++drops_;
  queue_.clear();
  queued_bytes_ = 0;
  if (std::exchange(connected_, false)) events_.connection(false);
  wake_.notify_all();
}

void NatsLink::OnMessage(natsConnection* /*connection*/, natsSubscription* /*subscription*/,
                         natsMsg* raw, void* self) {
  const NatsMsg message(raw);
  static_cast<NatsLink*>(self)->events_.message(
      natsMsg_GetSubject(raw),
      {natsMsg_GetData(raw), static_cast<size_t>(natsMsg_GetDataLength(raw))});
}

void NatsLink::OnDown(natsConnection* /*connection*/, void* self) {
  static_cast<NatsLink*>(self)->Dropped();
}

void NatsLink::OnClosed(natsConnection* /*connection*/, void* self) {
  auto* link = static_cast<NatsLink*>(self);
  link->Dropped();
  const std::lock_guard lock(link->mutex_);
  link->closed_ = true;
  link->wake_.notify_all();
}

void NatsLink::OnError(natsConnection* connection, natsSubscription* /*subscription*/,
                       natsStatus error, void* self) {
  const auto& events = static_cast<NatsLink*>(self)->events_;
  if (error == NATS_SLOW_CONSUMER) {
    events.lost();
    return;
  }
  const char* detail = nullptr;
  natsConnection_GetLastError(connection, &detail);
  std::string text = natsStatus_GetText(error);
  if (detail != nullptr && *detail != '\0') text += std::string(": ") + detail;
  events.error(KindOf(error), text);
}

void NatsLink::OnSubscriptionDone(void* self) {
  auto* link = static_cast<NatsLink*>(self);
  const std::lock_guard lock(link->mutex_);
  --link->open_subscriptions_;
  link->wake_.notify_all();
}

}  // namespace splitlet::bus
