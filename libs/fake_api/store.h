#pragma once

/// Objects of the fake API server by kind and key, with one revision for all, the changes of a
/// window, and lists that clients still read in pages.
/// Threads: one at a time.
/// Errors:  OUT_OF_RANGE: the revision or page is too old.
/// Source:  Kubernetes API, "Resource versions", "Retrieving large results sets in chunks".

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/fake_api/objects.h"
#include "libs/fake_api/selectors.h"

namespace splitlet::fake_api {

class Store {
 public:
  struct Change {
    enum class Type { kAdded, kModified, kDeleted } type = Type::kAdded;
    int64_t revision = 0;
    const Kind* kind = nullptr;
    Object before, now;  // for a deletion, `now` is the last state with the deletion's revision
  };
  using OnChange = std::function<void(const Change&)>;
  Store(size_t window, OnChange on_change) : window_(window), on_change_(std::move(on_change)) {}

  int64_t revision() const { return revision_; }
  /// nullptr if the object does not exist.
  Object Find(const Kind& kind, const std::string& key) const;
  /// Creates or replaces the object.
  Object Write(const Kind& kind, const std::string& key,
               std::unique_ptr<google::protobuf::Message> object);
  void Erase(const Kind& kind, const std::string& key);
  /// In the order of the keys. `name_space` "": all namespaces.
  std::vector<Object> List(const Kind& kind, const std::string& name_space) const;

  struct Page {
    std::vector<Object> items;
    int64_t revision = 0;
    std::string next;  // "": this page is the last
    size_t remaining = 0;
  };
  struct PageQuery {
    const Kind& kind;
    std::string name_space;
    const Selector& selector;
    size_t limit = 0;  // 0: no limit
    std::string next;
  };
  StatusOr<Page> ListPage(const PageQuery& query);

  /// Changes of all kinds after `revision`.
  StatusOr<std::vector<const Change*>> Since(int64_t revision) const;
  void Compact();
  /// By kind, then by key.
  using Objects = std::map<const Kind*, std::map<std::string, Object>>;
  /// Replaces all objects without events, before the first watch. The next revision is above
  /// `revision`.
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

}  // namespace splitlet::fake_api
