#include "libs/bus/table_core.h"

namespace splitlet::bus {

StatusOr<std::optional<Envelope>> TableCore::Put(const std::string& key, std::string record,
                                                 std::string_view traceparent) {
  if (record.size() > kMaxRecordBytes)
    return ResourceExhausted("the record has {} bytes, above {}", record.size(), kMaxRecordBytes);
  auto& entry = entries_[key];
  if (entry.record != nullptr && *entry.record == record) return std::optional<Envelope>();
  entry = {std::make_shared<const std::string>(std::move(record)), std::string(traceparent)};
  Change change = ChangeOf(key);
  if (change.record->size() > kMaxPublishedBytes) {
    change.too_large = true;
    change.record = nullptr;
  }
  return std::optional<Envelope>(Number(std::move(change)));
}

std::optional<Envelope> TableCore::Remove(const std::string& key, std::string_view traceparent) {
  if (entries_.erase(key) == 0) return std::nullopt;
  Change change = ChangeOf(key);
  change.traceparent = traceparent;
  return Number(std::move(change));
}

std::optional<Envelope> TableCore::SetComplete(Completeness completeness) {
  if (completeness == promise_.completeness) return std::nullopt;
  promise_.completeness = std::move(completeness);
  ++promise_.version;
  return Heartbeat();
}

Envelope TableCore::Heartbeat() const {
  Envelope heartbeat;
  heartbeat.start = start_;
  heartbeat.sequence = sequence_;
  heartbeat.producer = producer_;
  heartbeat.promise = promise_;
  return heartbeat;
}

ListAnswer TableCore::List(const Since& since) const {
  ListAnswer answer;
  answer.start = start_;
  answer.sequence = sequence_;
  answer.promise = promise_;
  const bool reaches = since.start == start_ && since.sequence <= sequence_ &&
                       sequence_ - since.sequence <= ring_.size();
  answer.full = !reaches;
  if (answer.full) {
    answer.changes.reserve(entries_.size());
    for (const auto& [key, entry] : entries_) answer.changes.push_back(ChangeOf(key));
    for (const auto& key : RemovedKeys()) answer.changes.push_back(ChangeOf(key));
    return answer;
  }
  const auto behind = static_cast<std::ptrdiff_t>(sequence_ - since.sequence);
  const std::set<std::string> keys(ring_.end() - behind, ring_.end());
  for (const auto& key : keys) answer.changes.push_back(ChangeOf(key));
  return answer;
}

std::set<std::string> TableCore::RemovedKeys() const {
  std::set<std::string> removed(ring_.begin(), ring_.end());
  std::erase_if(removed, [this](const auto& key) { return entries_.contains(key); });
  return removed;
}

const std::string* TableCore::Get(const std::string& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : it->second.record.get();
}

std::vector<std::string> TableCore::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

Envelope TableCore::Number(Change change) {
  ring_.push_back(change.key);
  if (ring_.size() > kRing) ring_.pop_front();
  Envelope envelope;
  envelope.start = start_;
  envelope.sequence = ++sequence_;
  envelope.producer = producer_;
  envelope.change = std::move(change);
  return envelope;
}

Change TableCore::ChangeOf(const std::string& key) const {
  Change change;
  change.key = key;
  const auto it = entries_.find(key);
  change.removal = it == entries_.end();
  if (change.removal) return change;
  change.record = it->second.record;
  change.traceparent = it->second.traceparent;
  return change;
}

}  // namespace splitlet::bus
