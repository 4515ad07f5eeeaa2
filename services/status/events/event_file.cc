#include "services/status/events/event_file.h"

#include <iterator>
#include <utility>

#include "libs/base/fail_point.h"

namespace splitlet::status {
namespace {

constexpr Duration kSavePeriod = std::chrono::seconds{2};
constexpr size_t kMaxKeptBytes = 1u << 20;
constexpr const char* kEventsStrand = "events";
constexpr const char* kEventsKey = "all";

StatusOr<std::vector<v1::EventRecord>> ReadEvents(const fs::RecordStore& store) {
  std::vector<v1::EventRecord> events;
  ASSIGN_OR_RETURN(const auto all, store.ReadAll(), "read");
  if (!all.unreadable.empty())
    return DataLoss("{}: {}", all.unreadable.front().key, all.unreadable.front().reason);
  for (const auto& record : all.records) {
    v1::ListEventsReply kept;
    if (record.key != kEventsKey || !kept.ParseFromString(record.bytes))
      return DataLoss("{}: does not parse", record.key);
    events.assign(kept.events().begin(), kept.events().end());
  }
  return events;
}

/// The newest events that fit into kMaxKeptBytes.
v1::ListEventsReply Bounded(std::vector<v1::EventRecord> events) {
  auto first = events.end();
  for (size_t bytes = 0; first != events.begin(); --first) {
    bytes += std::prev(first)->ByteSizeLong();
    if (bytes > kMaxKeptBytes) break;
  }
  v1::ListEventsReply kept;
  for (; first != events.end(); ++first) *kept.add_events() = std::move(*first);
  return kept;
}

Status SaveEvents(const fs::RecordStore& store, std::vector<v1::EventRecord> events) {
  const v1::ListEventsReply kept = Bounded(std::move(events));
  FAIL_POINT("status.save-events.before");
  RETURN_IF_ERROR(store.Save(kEventsKey, kept.SerializeAsString(), false), "save");
  FAIL_POINT("status.save-events.after");
  return OkStatus();
}

}  // namespace

void EventFile::Start() {
  asker_.Ask(
      kEventsStrand, [store = store_] { return ReadEvents(*store); },
      [this](const StatusOr<std::vector<v1::EventRecord>>& events) { OnRead(events); });
}

void EventFile::OnRead(const StatusOr<std::vector<v1::EventRecord>>& events) {
  if (!events.ok())
    deps_.env.log.Warn("cannot read events of the last start, starting without them",
                       {KV("err", events.status())});
  read_ = true;
  deps_.on_read(events.ok() ? *events : std::vector<v1::EventRecord>{});
  if (changed_) OnRecorded();
}

void EventFile::OnRecorded() {
  changed_ = true;
  if (!read_ || saving_ || timer_ != 0) return;
  const Clock::Time now = deps_.env.clock.Now();
  if (!saved_at_ || now - *saved_at_ >= kSavePeriod) return Save();
  timer_ = deps_.env.loop.RunAfter(*saved_at_ + kSavePeriod - now, [this] {
    timer_ = 0;
    Save();
  });
}

void EventFile::BeginStop() {
  deps_.env.loop.CancelTimer(std::exchange(timer_, 0));
  if (read_ && changed_) Save();
}

void EventFile::Save() {
  changed_ = false;
  saving_ = true;
  saved_at_ = deps_.env.clock.Now();
  asker_.Ask(
      kEventsStrand,
      [store = store_, events = deps_.list()]() mutable {
        return SaveEvents(*store, std::move(events));
      },
      [this](const Status& saved) { OnSaved(saved); });
}

void EventFile::OnSaved(const Status& status) {
  saving_ = false;
  const std::string error = status.ok() ? "" : Message(status);
  if (std::exchange(save_error_, error) != error && !error.empty())
    deps_.env.log.Warn("cannot save events, will retry", {KV("err", status)});
  if (!status.ok() || changed_) OnRecorded();
}

}  // namespace splitlet::status
