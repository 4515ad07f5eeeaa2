#pragma once

/// What the server in memory has, by kind and key, with one revision for all of it, the changes of
/// a window, and lists that are still being read in pages.
/// Threads: one at a time.
/// Errors:  OUT_OF_RANGE for a revision or a page that is too old.
/// Source:  Kubernetes API, "Resource versions", "Retrieving large results sets in chunks".

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/apiclient/fake_objects.h"
#include "libs/apiclient/fake_selectors.h"

namespace splitlet::apiclient {

class Store {
 public:
  struct Change {
    enum class Type { kAdded, kModified, kDeleted } type = Type::kAdded;
    int64_t revision = 0;
    const Kind* kind = nullptr;
    Object before, now;  // a deleted object has its last state and the revision of its end
  };
  using OnChange = std::function<void(const Change&)>;
  Store(size_t window, OnChange on_change) : window_(window), on_change_(std::move(on_change)) {}

  int64_t revision() const { return revision_; }
  /// nullptr: there is none.
  Object Find(const Kind& kind, const std::string& key) const;
  /// New or in place of what is there.
  Object Write(const Kind& kind, const std::string& key,
               std::unique_ptr<google::protobuf::Message> object);
  void Erase(const Kind& kind, const std::string& key);
  /// In the order of the keys. `name_space`: "" is all.
  std::vector<Object> List(const Kind& kind, const std::string& name_space) const;

  struct Page {
    std::vector<Object> items;
    int64_t revision = 0;
    std::string next;  // "": the last one
    size_t remaining = 0;
  };
  struct PageQuery {
    const Kind& kind;
    std::string name_space;
    const Selector& selector;
    size_t limit = 0;  // 0: all
    std::string next;
  };
  StatusOr<Page> ListPage(const PageQuery& query);

  /// Of all kinds, after `revision`.
  StatusOr<std::vector<const Change*>> Since(int64_t revision) const;
  void Compact();
  /// By kind, then by key.
  using Objects = std::map<const Kind*, std::map<std::string, Object>>;
  /// What is there from now on, as it is; nobody is told, and changes before can no longer be
  /// watched from. The next revision is above this one.
  void Restore(Objects objects, int64_t revision);

 private:
  struct Snapshot {
    std::vector<Object> items;
    int64_t revision = 0;
  };
  void Record(Change change);

  static constexpr size_t kMaxSnapshots = 64;
  size_t window_;
  OnChange on_change_;
  int64_t revision_ = 1;
  int64_t compacted_ = 0;
  Objects objects_;
  std::deque<Change> changes_;
  std::map<uint64_t, Snapshot> snapshots_;
  uint64_t last_snapshot_ = 0;
};

}  // namespace splitlet::apiclient
