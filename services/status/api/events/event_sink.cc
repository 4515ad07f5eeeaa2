#include "services/status/api/events/event_sink.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/kube/json_text.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/static_pod.h"
#include "libs/kube/time_text.h"

namespace splitlet::status {
namespace {

constexpr Duration kTimeout = std::chrono::seconds{10};
constexpr size_t kMaxEventName = 253;
constexpr std::string_view kComponent = "kubelet";
constexpr int64_t kNanosPerSecond = 1'000'000'000;

/// The server refuses the event for good. Any other error: it cannot be reached or cannot answer
/// now.
bool IsRefusal(const Status& status) {
  if (status.code() == StatusCode::kAborted) return true;
  return !IsRetryable(status.code()) && !apiclient::IsOutOfReach(status) &&
         status.code() != StatusCode::kUnauthenticated && status.code() != StatusCode::kCancelled;
}

std::string EventsPath(const std::string& name_space) {
  return "/api/v1/namespaces/" + apiclient::Escaped(name_space) + "/events";
}

template <class ApiTime>
void SetSeconds(ApiTime* time, int64_t ns) {
  time->set_seconds(ns / kNanosPerSecond);
}

std::string CountPatch(const v1::EventRecord& event) {
  std::string patch =
      fmt::format("{{\"count\":{},\"lastTimestamp\":\"{}\",\"message\":", event.count(),
                  kube::FormatTime({event.last_wall_ns() / kNanosPerSecond, 0}, 0));
  kube::AppendJsonString(patch, event.message());
  return patch + "}";
}

Status SendPatch(apiclient::Client& client, const std::string& path, const std::string& patch,
                 const Deadline& deadline) {
  FAIL_POINT("status.patch-event.before");
  const Status status =
      client.Patch(path, {apiclient::PatchType::kStrategicMerge, patch}, nullptr, deadline);
  FAIL_POINT("status.patch-event.after");
  return status;
}

Status SendCreate(apiclient::Client& client, const core::Event& event, const Deadline& deadline) {
  FAIL_POINT("status.create-event.before");
  const Status status = client.Create(EventsPath(event.metadata().namespace_()),
                                      {"v1", "Event", event}, nullptr, deadline);
  FAIL_POINT("status.create-event.after");
  return status;
}

struct Sending {
  core::Event event;
  bool made = false;  // the server has the object, with an earlier count
  std::string patch;
};

Status Send(apiclient::Client& client, const Sending& sending, const Deadline& deadline) {
  const auto& metadata = sending.event.metadata();
  const std::string path =
      EventsPath(metadata.namespace_()) + "/" + apiclient::Escaped(metadata.name());
  if (sending.made) {
    const Status patched = SendPatch(client, path, sending.patch, deadline);
    // The server deletes events after about an hour.
    if (patched.code() != StatusCode::kNotFound) return patched;
  }
  const Status created = SendCreate(client, sending.event, deadline);
  if (created.code() != StatusCode::kAlreadyExists) return created;
  // Our own object, whose answer was lost: only this process uses its name. The count may be higher
  // now.
  return SendPatch(client, path, sending.patch, deadline);
}

}  // namespace

core::Event EventOf(const v1::EventRecord& record, const std::string& node_name,
                    const std::string& pod_version) {
  core::Event event;
  auto& object = *event.mutable_involved_object();
  object.set_kind(record.kind());
  object.set_api_version("v1");
  object.set_name(record.name());
  const bool is_node = record.kind() == "Node";
  object.set_uid(is_node ? record.name() : record.uid());
  if (!is_node && !record.namespace_().empty()) object.set_namespace_(record.namespace_());
  if (!pod_version.empty()) object.set_resource_version(pod_version);
  if (!record.field_path().empty()) object.set_field_path(record.field_path());
  event.mutable_metadata()->mutable_annotations()->insert(record.annotations().begin(),
                                                          record.annotations().end());
  event.set_type(record.type());
  event.set_reason(record.reason());
  event.set_message(record.message());
  event.mutable_source()->set_component(std::string(kComponent));
  event.mutable_source()->set_host(node_name);
  event.set_reporting_component(std::string(kComponent));
  event.set_reporting_instance(node_name);
  SetSeconds(event.mutable_first_timestamp(), record.first_wall_ns());
  SetSeconds(event.mutable_last_timestamp(), record.last_wall_ns());
  event.set_count(static_cast<int32_t>(record.count()));
  return event;
}

EventSink::EventSink(Deps deps, Options options)
    : deps_(std::move(deps)),
      options_(options),
      stop_(std::make_shared<CancelToken>()),
      random_(deps_.seed),
      asker_(deps_.env.loop, deps_.env.strands) {}

EventSink::~EventSink() {
  stop_->Cancel();
  deps_.env.loop.CancelTimer(timer_);
}

EventSink::Name EventSink::NewName(const v1::EventRecord& event) {
  // Never the same name twice, even if the clock stands still or goes back.
  last_ns_ = std::max(ToNanos(deps_.env.clock.WallNow()), last_ns_ + 1);
  std::string name = fmt::format("{}.{:x}", event.name(), last_ns_);
  if (name.size() > kMaxEventName || event.name().empty()) name = kube::HexHash128(name);
  const bool in_default = event.kind() == "Node" || event.namespace_().empty();
  return {in_default ? std::string(kube::kDefaultNamespace) : event.namespace_(), std::move(name)};
}

void EventSink::OnEvent(const std::string& key, const v1::EventRecord& event, bool is_new) {
  CHECK(deps_.env.loop.IsCurrent());
  if (const auto at = by_key_.find(key); at != by_key_.end()) {
    at->second->event = event;
    return;
  }
  if (is_new) {
    if (const auto old = known_.find(key); old != known_.end()) {
      used_.erase(old->second.used);
      known_.erase(old);
    }
  }
  const auto known = known_.find(key);
  const bool made = known != known_.end();
  waiting_.push_back({.key = key,
                      .event = event,
                      .name = made ? known->second.name : NewName(event),
                      .made = made});
  by_key_[key] = std::prev(waiting_.end());
  if (waiting_.size() > options_.max_waiting) {
    auto oldest = waiting_.begin();
    if (oldest->key == sending_) ++oldest;
    Drop(oldest, "dropped");
  }
  if (sending_.empty() && timer_ == 0) SendSoon(Duration{0});
}

void EventSink::Drop(Queue::iterator entry, const char* result) {
  deps_.metrics.events_sent.Add({{"result", result}}).Increment();
  by_key_.erase(entry->key);
  waiting_.erase(entry);
}

void EventSink::Remember(const std::string& key, const Name& name) {
  if (const auto old = known_.find(key); old != known_.end()) {
    used_.splice(used_.end(), used_, old->second.used);
    old->second.name = name;
    return;
  }
  used_.push_back(key);
  known_[key] = {name, std::prev(used_.end())};
  if (known_.size() <= options_.max_known) return;
  known_.erase(used_.front());
  used_.pop_front();
}

void EventSink::SendSoon(Duration delay) {
  deps_.env.loop.CancelTimer(timer_);
  timer_ = deps_.env.loop.RunAfter(delay, [this] {
    timer_ = 0;
    SendNext();
  });
}

void EventSink::SendNext() {
  if (!sending_.empty() || waiting_.empty()) return;
  const auto now = deps_.env.clock.Now();
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
    return !one.not_before || one.not_before <= now;
  });
  if (next == waiting_.end()) {
    const auto soonest =
        std::min_element(waiting_.begin(), waiting_.end(),
                         [](const auto& a, const auto& b) { return a.not_before < b.not_before; });
    return SendSoon(soonest->not_before - now);
  }
  sending_ = next->key;
  const bool is_pod = next->event.kind() == "Pod" && deps_.pod_version != nullptr;
  Sending sending{.event = EventOf(next->event, deps_.node_name,
                                   is_pod ? deps_.pod_version(next->event.uid()) : std::string()),
                  .made = next->made,
                  .patch = CountPatch(next->event)};
  sending.event.mutable_metadata()->set_namespace_(next->name.name_space);
  sending.event.mutable_metadata()->set_name(next->name.name);
  asker_.Ask(
      "api/events",
      [&clock = deps_.env.clock, stop = stop_, client = deps_.client,
       sending = std::move(sending)] {
        return Send(*client, sending, {clock.Now() + kTimeout, stop});
      },
      [this, key = next->key, count = next->event.count()](const Status& status) {
        OnSent(key, count, status);
      });
}

void EventSink::OnSent(const std::string& key, uint32_t count, const Status& status) {
  sending_.clear();
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return SendSoon(Duration{0});
  const auto entry = at->second;
  if (!status.ok() && !IsRefusal(status)) return OnUnreached(entry, status);
  failures_ = 0;
  logged_ = false;
  if (!status.ok()) {
    deps_.env.log.Warn("the API server refused an event, dropping it",
                       {KV("object", kube::PodKey(entry->event.namespace_(), entry->event.name())),
                        KV("reason", entry->event.reason()), KV("err", status)});
    Drop(entry, "refused");
    return SendSoon(Duration{0});
  }
  Remember(key, entry->name);
  if (entry->event.count() > count) {  // it occurred again during the call
    entry->made = true;
    entry->attempts = 0;
    waiting_.splice(waiting_.end(), waiting_, entry);
  } else {
    Drop(entry, "sent");
  }
  SendSoon(Duration{0});
}

void EventSink::OnUnreached(Queue::iterator entry, const Status& status) {
  ++failures_;
  const auto key = entry->key;
  // A second failure in a row is the server's: it counts as an attempt for all waiting events.
  const bool away = failures_ > 1;
  Duration wait = options_.retry;
  if (failures_ == 2) {
    // Jitter, so that the nodes do not all call at the same time when the server comes back.
    wait = std::chrono::duration_cast<Duration>(wait * random_.Unit());
  }
  if (away && !IsAwaited(status) && !std::exchange(logged_, true))
    deps_.env.log.Warn("cannot send events to the API server, will retry",
                       {KV("waiting", waiting_.size()), KV("err", status)});
  const auto again_at = deps_.env.clock.Now() + wait;
  waiting_.splice(waiting_.end(), waiting_, entry);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto next = std::next(it);
    if (it->key == key || away) {
      const bool tried = it->not_before && it->not_before > deps_.env.clock.Now();
      if (!tried) ++it->attempts;
      it->not_before = again_at;
      if (it->attempts >= options_.max_attempts) Drop(it, "dropped");
    }
    it = next;
  }
  SendSoon(Duration{0});
}

}  // namespace splitlet::status
