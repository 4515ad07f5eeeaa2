#include "services/status/events/event_store.h"

#include <algorithm>

#include "libs/base/text.h"

namespace splitlet::status {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";

/// Joins parts so that different parts never give the same text.
std::string Join(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const auto part : parts) key.append(part).append(1, '\0');
  return key;
}

std::string ObjectKey(const v1::EventRecord& e) {
  return Join({e.component(), e.kind(), e.namespace_(), e.name(), e.uid(), e.type()});
}

std::string FullKey(const v1::EventRecord& e) {
  return ObjectKey(e) + Join({e.reason(), e.field_path(), e.message()});
}

/// The key of a combined event leaves out the message; the event shows the last message.
std::string KeyOf(const v1::EventRecord& e) {
  return e.combined() ? ObjectKey(e) + Join({e.reason(), kCombined}) : FullKey(e);
}

/// Removes the least recently used entry.
template <class Map>
void Bound(Map& map, size_t limit) {
  if (map.size() <= limit) return;
  map.erase(std::min_element(map.begin(), map.end(), [](const auto& a, const auto& b) {
    return a.second.at < b.second.at;
  }));
}

/// Cuts each text to what the API accepts.
void BoundTexts(v1::EventRecord& event) {
  constexpr size_t kMaxName = 253, kMaxWord = 128, kMaxMessage = 1024;
  constexpr int kMaxAnnotations = 16;
  event.set_type(ToText(event.type(), kMaxWord));
  event.set_reason(ToText(event.reason(), kMaxWord));
  event.set_component(ToText(event.component(), kMaxWord));
  event.set_kind(ToText(event.kind(), kMaxWord));
  event.set_namespace_(ToText(event.namespace_(), kMaxName));
  event.set_name(ToText(event.name(), kMaxName));
  event.set_uid(ToText(event.uid(), kMaxName));
  event.set_field_path(ToText(event.field_path(), kMaxMessage));
  event.set_message(ToText(event.message(), kMaxMessage));
  if (event.annotations_size() > kMaxAnnotations) event.clear_annotations();
  std::map<std::string, std::string> annotations;
  for (const auto& [name, value] : event.annotations())
    annotations[ToText(name, kMaxName)] = ToText(value, kMaxMessage);
  event.mutable_annotations()->clear();
  event.mutable_annotations()->insert(annotations.begin(), annotations.end());
}

}  // namespace

bool EventStore::TakeToken(const v1::EventRecord& event) {
  const auto now = clock_.Now();
  auto [it, added] = buckets_.emplace(ObjectKey(event), Bucket{options_.burst, now});
  Bucket& bucket = it->second;
  const auto passed = std::chrono::duration<double>(now - bucket.at).count();
  const auto refill = std::chrono::duration<double>(options_.refill).count();
  bucket.tokens = std::min(options_.burst, bucket.tokens + passed / refill);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  Bound(buckets_, options_.max_keys);
  return true;
}

void EventStore::Aggregate(v1::EventRecord& event) {
  const auto now = clock_.Now();
  auto [it, added] = groups_.emplace(ObjectKey(event) + Join({event.reason()}), Group{{}, now});
  Group& group = it->second;
  if (now - group.at > options_.similar_window) group.messages.clear();
  group.at = now;
  if (group.messages.size() < options_.similar) group.messages[event.message()] = true;
  if (group.messages.size() >= options_.similar) {
    event.set_message(std::string(kCombined) + event.message());
    event.set_combined(true);
  }
  Bound(groups_, options_.max_keys);
}

EventStore::Result EventStore::Record(v1::EventRecord event) {
  BoundTexts(event);
  event.clear_combined();  // that is decided here alone
  // An event over the rate limit is counted too, so that the next one sent has the whole count.
  const bool passes = TakeToken(event);
  Aggregate(event);
  const int64_t now = ToNanos(clock_.WallNow());
  if (event.last_wall_ns() == 0) event.set_last_wall_ns(now);
  if (event.first_wall_ns() == 0) event.set_first_wall_ns(event.last_wall_ns());
  if (event.count() == 0) event.set_count(1);
  const std::string key = KeyOf(event);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    auto& old = known->second->event;
    if (old.count() == known->second->restored) known->second->first_ns = event.first_wall_ns();
    old.set_count(old.count() + event.count());
    old.set_last_wall_ns(std::max(old.last_wall_ns(), event.last_wall_ns()));
    old.set_message(event.message());
    known->second->at = clock_.Now();
    events_.splice(events_.end(), events_, known->second);
    return passes ? Result::kCounted : Result::kSpam;
  }
  const int64_t first_ns = event.first_wall_ns();
  events_.push_back(
      {.event = std::move(event), .at = clock_.Now(), .key = nullptr, .first_ns = first_ns});
  events_.back().key = &by_key_.emplace(key, std::prev(events_.end())).first->first;
  Trim();
  return passes ? Result::kNew : Result::kSpam;
}

/// The age comes from the wall clock of this machine, which may have been set back: never negative.
void EventStore::Restore(std::vector<v1::EventRecord> older) {
  const Clock::Time now = clock_.Now();
  const int64_t wall_ns = ToNanos(clock_.WallNow());
  for (auto event = older.rbegin(); event != older.rend(); ++event) {
    // A file of an earlier version shows it by the text alone.
    if (event->message().starts_with(kCombined)) event->set_combined(true);
    const std::string key = KeyOf(*event);
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      auto& newer = known->second->event;
      newer.set_count(newer.count() + event->count());
      known->second->restored += event->count();
      newer.set_first_wall_ns(std::min(newer.first_wall_ns(), event->first_wall_ns()));
      continue;
    }
    const Duration age{std::max<int64_t>(wall_ns - event->last_wall_ns(), 0)};
    const uint32_t count = event->count();
    events_.push_front(
        {.event = std::move(*event), .at = now - age, .key = nullptr, .restored = count});
    events_.front().key = &by_key_.emplace(key, events_.begin()).first->first;
  }
  Trim();
}

void EventStore::Trim() {
  const Clock::Time oldest = clock_.Now() - options_.keep;
  const auto remove_first = [this] {
    by_key_.erase(by_key_.find(*events_.front().key));
    events_.pop_front();
  };
  while (!events_.empty() && events_.front().at < oldest) remove_first();
  while (events_.size() > options_.max_events) {
    remove_first();
    ++displaced_;
  }
}

v1::EventRecord EventStore::newest() const {
  const Kept& last = events_.back();
  v1::EventRecord event = last.event;
  event.set_count(event.count() - last.restored);
  event.set_first_wall_ns(last.first_ns);
  return event;
}

std::vector<v1::EventRecord> EventStore::List(const std::string& uid) const {
  const Clock::Time oldest = clock_.Now() - options_.keep;
  std::vector<v1::EventRecord> listed;
  for (const Kept& kept : events_)
    if (kept.at >= oldest && (uid.empty() || kept.event.uid() == uid)) listed.push_back(kept.event);
  return listed;
}

}  // namespace splitlet::status
