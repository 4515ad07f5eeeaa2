#include "libs/fake_api/watches.h"

#include <google/protobuf/message.h>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/base/cancel.h"

namespace splitlet::fake_api {

using apiclient::Response;

namespace {

using Watch = Watches::Watch;
using Type = Store::Change::Type;

bool Covers(const Watch& watch, const google::protobuf::Message& object) {
  const auto& meta = MetaOf(object);
  if (!watch.name_space.empty() && meta.namespace_() != watch.name_space) return false;
  if (!watch.name.empty() && meta.name() != watch.name) return false;
  return watch.selector.Matches(object);
}

/// A watch gets ADDED when an object begins to match its selector, and DELETED when it stops
/// matching.
std::optional<std::string_view> EventFor(const Watch& watch, const Store::Change& change) {
  if (watch.kind != change.kind || watch.end) return std::nullopt;
  const bool was = change.before != nullptr && Covers(watch, *change.before);
  const bool is = change.type != Type::kDeleted && Covers(watch, *change.now);
  if (was && is) return "MODIFIED";
  if (is) return "ADDED";
  if (was) return "DELETED";
  return std::nullopt;
}

TypeName NameOf(const Kind& kind) { return {kind.api_version(), kind.kind}; }

std::string Frame(const Watch& watch, std::string_view type, const Store::Change& change) {
  return EncodeEvent(type, *change.now, NameOf(*change.kind), watch.format);
}

}  // namespace

void Watches::Send(Watch& watch, const Store::Change& change) {
  if (const auto type = EventFor(watch, change))
    watch.frames.push_back(Frame(watch, *type, change));
}

void Watches::OnChange(const Store::Change& change) {
  // encoded frames, shared by watches
  std::map<std::pair<std::string_view, Format>, std::string> frames;
  for (const auto& watch : watches_) {
    const auto type = EventFor(*watch, change);
    if (!type) continue;
    auto& frame = frames[{*type, watch->format}];
    if (frame.empty()) frame = Frame(*watch, *type, change);
    watch->frames.push_back(frame);
  }
}

void Watches::SendAll(Watch& watch, const std::vector<Object>& objects) {
  for (const auto& object : objects) {
    if (Covers(watch, *object))
      watch.frames.push_back(EncodeEvent("ADDED", *object, NameOf(*watch.kind), watch.format));
  }
}

void Watches::Bookmark(Watch& watch, int64_t revision, bool initial_end) {
  if (watch.kind == nullptr || !watch.bookmarks || watch.end) return;
  const std::unique_ptr<google::protobuf::Message> object(watch.kind->item->New());
  MetaOf(*object).set_resource_version(std::to_string(revision));
  if (initial_end) (*MetaOf(*object).mutable_annotations())["k8s.io/initial-events-end"] = "true";
  watch.frames.push_back(EncodeEvent("BOOKMARK", *object, NameOf(*watch.kind), watch.format));
}

void Watches::BookmarkAll(int64_t revision) {
  for (const auto& watch : watches_) Bookmark(*watch, revision);
}

void Watches::EndAll(const StatusOr<Response>& end) {
  for (const auto& watch : watches_) {
    const bool hung = watch->kind == nullptr;
    if (!watch->end && (!hung || !end.ok())) watch->end = end;
  }
}

std::vector<Watches::WatchPtr> Watches::TakeHung() {
  std::vector<WatchPtr> hung;
  for (auto it = watches_.begin(); it != watches_.end();) {
    const bool take = (*it)->kind == nullptr && !(*it)->end;
    if (take) hung.push_back(*it);
    it = take ? watches_.erase(it) : std::next(it);
  }
  return hung;
}

void Watches::Tick(Clock::Time now, int64_t revision) {
  for (const auto& watch : watches_) {
    if (watch->end) continue;
    if (now >= watch->deadline.at) {
      watch->end = DeadlineExceeded("no answer in time");
    } else if (watch->until && now >= *watch->until) {
      Bookmark(*watch, revision);
      watch->end = Response{.code = 200};
    }
  }
}

Watches::WatchPtr Watches::NextToDeliver() {
  for (const auto& watch : watches_) {
    if (!watch->delivering && (watch->end || !watch->frames.empty())) return watch;
  }
  return nullptr;
}

void Watches::Deliver(std::mutex& mutex) {
  while (true) {
    std::unique_lock lock(mutex);
    const WatchPtr watch = NextToDeliver();
    if (watch == nullptr) return;
    watch->delivering = true;
    auto frames = std::move(watch->frames);
    watch->frames.clear();
    const auto end = watch->end;
    if (end) watches_.remove(watch);
    lock.unlock();
    for (const auto& frame : frames) watch->on_data(frame);
    if (end) {
      if (watch->deadline.cancel != nullptr) watch->deadline.cancel->Remove(watch->cancel_id);
      watch->done(*end);
      continue;
    }
    lock.lock();
    watch->delivering = false;
  }
}

}  // namespace splitlet::fake_api
