#pragma once

/// Table<R> and View<R>: the bus with protobuf records (complete in .cc files). Loop thread only.
/// Errors: as bus.h. A record that does not parse, or names another UID than its key, is present
/// and unknown (docs/safety.md, rule 11).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/bus/bus.h"

namespace google::protobuf {
class MessageLite;
}

namespace splitlet::bus {

/// Map fields are in order, so that equal messages have equal bytes.
std::string SerializeSorted(const google::protobuf::MessageLite& message);

/// The pod that a record is about; empty if its type or the record names none.
template <class R>
std::string_view UidOf(const R& record) {
  if constexpr (requires { record.uid(); }) return record.uid();
  if constexpr (requires { record.pod().uid(); }) return record.pod().uid();
  return {};
}

template <class R>
bool ParseFor(const std::string& key, const std::string& bytes, R& record) {
  if (!record.ParseFromString(bytes)) return false;
  const std::string_view uid = UidOf(record);
  return uid.empty() || KeyOf(uid) == key;
}

template <class R>
class Table {
 public:
  explicit Table(std::unique_ptr<RawTable> raw) : raw_(std::move(raw)) {
    raw_->SetCheck([](const std::string& key, const std::string& bytes) {
      R record;
      return ParseFor(key, bytes, record);
    });
  }
  Status Put(const std::string& key, const R& record, std::string_view traceparent = {}) {
    return raw_->Put(key, SerializeSorted(record), traceparent);
  }
  void Remove(const std::string& key, std::string_view traceparent = {}) {
    raw_->Remove(key, traceparent);
  }
  std::unique_ptr<R> Get(const std::string& key) const {
    const std::string* bytes = raw_->Get(key);
    auto record = std::make_unique<R>();
    if (bytes == nullptr || !record->ParseFromString(*bytes)) return nullptr;
    return record;
  }
  bool Contains(const std::string& key) const { return raw_->Get(key) != nullptr; }
  std::vector<std::string> Keys() const { return raw_->Keys(); }
  void SetComplete(Completeness completeness) { raw_->SetComplete(std::move(completeness)); }
  const Completeness& completeness() const { return raw_->completeness(); }

 private:
  std::unique_ptr<RawTable> raw_;
};

/// Parses at each use and keeps nothing parsed: keep a record that you read often.
template <class R>
class View {
 public:
  using Record = std::shared_ptr<const R>;
  struct Change {
    std::string key;
    bool present_before = false, present_after = false;
    Record before, after;  // nullptr while present: unreadable
    std::string traceparent;
  };
  explicit View(std::unique_ptr<RawView> raw) : raw_(std::move(raw)) {}
  ViewState state() const { return raw_->state(); }
  bool live() const { return raw_->state() == ViewState::kLive; }
  Clock::Time stale_since() const { return raw_->stale_since(); }
  bool IsComplete(std::string_view scope = kAll) const { return raw_->IsComplete(scope); }
  /// Live and complete: the only reason to act on an absence (rule 8).
  bool LiveAndComplete(std::string_view scope = kAll) const { return live() && IsComplete(scope); }
  const Completeness& completeness() const { return raw_->completeness(); }
  bool was_live() const { return raw_->was_live(); }
  Clock::Time owner_start() const { return raw_->owner_start(); }
  bool Contains(const std::string& key) const { return raw_->Contains(key); }
  /// nullptr: absent or unreadable; Contains() distinguishes them.
  Record Find(const std::string& key) const { return Parse(key, raw_->Find(key)); }
  void ForEach(const std::function<void(const std::string&, const Record&)>& f) const {
    raw_->ForEach(
        [&f](const std::string& key, const RawView::Record& bytes) { f(key, Parse(key, bytes)); });
  }
  size_t size() const { return raw_->size(); }
  void OnChange(std::function<void(const Change&)> f) {
    raw_->OnChange([f = std::move(f)](const RawView::Change& c) {
      f({c.key, c.present_before, c.present_after, Parse(c.key, c.before), Parse(c.key, c.after),
         c.traceparent});
    });
  }
  void OnState(std::function<void()> f) { raw_->OnState(std::move(f)); }

 private:
  static Record Parse(const std::string& key, const RawView::Record& bytes) {
    if (bytes == nullptr) return nullptr;
    auto record = std::make_shared<R>();
    return ParseFor(key, *bytes, *record) ? record : nullptr;
  }
  std::unique_ptr<RawView> raw_;
};

template <class R>
StatusOr<Table<R>> Own(Bus& bus, const std::string& table) {
  ASSIGN_OR_RETURN(auto raw, bus.OwnRaw(table), "own table {}", table);
  return Table<R>(std::move(raw));
}

template <class R>
StatusOr<View<R>> ViewOf(Bus& bus, const std::string& table) {
  ASSIGN_OR_RETURN(auto raw, bus.ViewRaw(table, OwnerOf(table)), "view table {}", table);
  return View<R>(std::move(raw));
}

}  // namespace splitlet::bus
