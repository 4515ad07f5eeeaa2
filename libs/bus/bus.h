#pragma once

/// Tables, views and signals: list-and-watch between the processes of one node. A table is owned
/// and written by one process; other processes keep views. Changes travel over NATS, lists over
/// gRPC. All calls and callbacks run on the loop thread. Records are serialised protobuf messages;
/// typed.h has the typed wrappers Table<R> and View<R>, fake_bus.h the FakeBus of tests.
/// Errors: RESOURCE_EXHAUSTED: a record above 16 MiB. Without NATS changes come later; that is no
/// error.
/// Source: docs/design.md, "How state is shared".

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/names.h"

namespace splitlet::bus {

/// Tables with one scope of completeness use this one; `desired` has one per source.
inline constexpr std::string_view kAll = "all";

inline constexpr size_t kMaxRecordBytes = 16u << 20;
inline constexpr size_t kMaxPublishedBytes = 256u << 10;

/// What an owner publishes about its table in each heartbeat and list.
struct Completeness {
  std::set<std::string> scopes;       // complete scopes; kAll covers every scope
  Clock::Time observed_at;            // `runtime`: start of the last complete listing; else free
  std::set<std::string> not_vouched;  // `runtime`: keys that the last listing could not confirm
  bool operator==(const Completeness&) const = default;
};

class RawTable {
 public:
  virtual ~RawTable() = default;
  /// Numbers, keeps and publishes a record; an unchanged record is not published again.
  /// `traceparent` belongs to the change and may be empty. INVALID_ARGUMENT, counted, for a
  /// malformed key or a record that the check refuses: then the last good record stays.
  virtual Status Put(const std::string& key, std::string record, std::string_view traceparent) = 0;
  /// OK if there is no record.
  virtual void Remove(const std::string& key, std::string_view traceparent) = 0;
  /// nullptr if there is no record.
  virtual const std::string* Get(const std::string& key) const = 0;
  virtual std::vector<std::string> Keys() const = 0;
  /// Published immediately with a heartbeat.
  virtual void SetComplete(Completeness completeness) = 0;
  virtual const Completeness& completeness() const = 0;
  /// False: readers cannot use the record. Without a check all records are good.
  using Check = std::function<bool(const std::string& key, const std::string& record)>;
  virtual void SetCheck(Check check) = 0;
};

enum class ViewState {
  kSyncing,  // no list of the owner's present start yet; may hold content of an earlier start
  kLive,
  kStale,  // neither heartbeat nor answer for 3 s; keeps its last content
};

class RawView {
 public:
  using Record = std::shared_ptr<const std::string>;  // nullptr: present but unreadable
  struct Change {
    std::string key;
    bool present_before = false, present_after = false;
    Record before, after;
    std::string traceparent;
  };
  virtual ~RawView() = default;
  virtual ViewState state() const = 0;
  /// Last heartbeat or answer of the owner; no time if the view is not stale.
  virtual Clock::Time stale_since() const = 0;
  /// True if the owner's present start published the scope as complete at a sequence that this view
  /// has applied. Independent of staleness: check state() too.
  virtual bool IsComplete(std::string_view scope) const = 0;
  virtual const Completeness& completeness() const = 0;
  /// True from the first applied list on, for ever.
  virtual bool was_live() const = 0;
  /// The start of the owner that wrote the content; no time before the first applied list.
  virtual Clock::Time owner_start() const = 0;
  virtual bool Contains(const std::string& key) const = 0;
  virtual Record Find(const std::string& key) const = 0;
  virtual void ForEach(
      const std::function<void(const std::string& key, const Record&)>& f) const = 0;
  virtual size_t size() const = 0;
  /// Sets the only callback, before the loop runs. Intermediate values may be skipped, never the
  /// last.
  virtual void OnChange(std::function<void(const Change&)> f) = 0;
  /// Sets the only callback, before the loop runs. State or completeness changed.
  virtual void OnState(std::function<void()> f) = 0;
};

/// A line of `splitletctl get processes`.
struct ViewInfo {
  std::string table;
  ViewState state = ViewState::kSyncing;
  size_t records = 0;
  bool complete = false;  // in every scope that its owner names
};

class Bus {
 public:
  virtual ~Bus() = default;
  /// The table that this process owns; one per process.
  virtual StatusOr<std::unique_ptr<RawTable>> OwnRaw(const std::string& table) = 0;
  /// `owner` is the name of the process whose socket serves the list.
  virtual StatusOr<std::unique_ptr<RawView>> ViewRaw(const std::string& table,
                                                     const std::string& owner) = 0;
  /// A hint to read now; it may be lost. The subject is splitlet.<node>.<this process>.<signal>.
  virtual void Signal(const std::string& signal, const std::string& payload) = 0;
  virtual void OnSignal(const std::string& process, const std::string& signal,
                        std::function<void(const std::string& payload)> f) = 0;
  virtual bool connected() const = 0;
  /// Every existing view that this bus made, in the order of making.
  virtual std::vector<ViewInfo> Views() const { return {}; }
};

}  // namespace splitlet::bus
