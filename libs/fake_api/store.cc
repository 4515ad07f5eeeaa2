#include "libs/fake_api/store.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/kube/time_text.h"

namespace splitlet::fake_api {
namespace {

constexpr int64_t kUnrecorded = 1000;

/// The token of the next page: the list, and the key where it continues.
struct Token {
  uint64_t snapshot = 0;
  size_t offset = 0;
};

std::string WriteToken(const Token& token) {
  return kube::EncodeBase64(fmt::format("{}:{}", token.snapshot, token.offset));
}

StatusOr<Token> ReadToken(const std::string& text) {
  const auto plain = kube::DecodeBase64(text);
  Token token;
  const char* end = plain.ok() ? plain->data() + plain->size() : nullptr;
  if (end == nullptr) return InvalidArgument("continue key is not valid");
  const auto first = std::from_chars(plain->data(), end, token.snapshot);
  if (first.ptr == end || *first.ptr != ':') return InvalidArgument("continue key is not valid");
  std::from_chars(first.ptr + 1, end, token.offset);
  return token;
}

}  // namespace

Object Store::Find(const Kind& kind, const std::string& key) const {
  const auto objects = objects_.find(&kind);
  if (objects == objects_.end()) return nullptr;
  const auto it = objects->second.find(key);
  return it == objects->second.end() ? nullptr : it->second;
}

Object Store::Write(const Kind& kind, const std::string& key,
                    std::unique_ptr<google::protobuf::Message> object) {
  MetaOf(*object).set_resource_version(std::to_string(++revision_));
  Object& slot = objects_[&kind][key];
  Change change{.type = slot == nullptr ? Change::Type::kAdded : Change::Type::kModified,
                .revision = revision_,
                .kind = &kind,
                .before = slot};
  slot = std::move(object);
  change.now = slot;
  const Object written = slot;
  Record(std::move(change));
  return written;
}

void Store::Erase(const Kind& kind, const std::string& key) {
  const Object before = Find(kind, key);
  CHECK(before != nullptr, "{} {} is not there", kind.resource, key);
  objects_[&kind].erase(key);
  std::unique_ptr<google::protobuf::Message> last(before->New());
  last->CopyFrom(*before);
  MetaOf(*last).set_resource_version(std::to_string(++revision_));
  Record({.type = Change::Type::kDeleted,
          .revision = revision_,
          .kind = &kind,
          .before = before,
          .now = std::move(last)});
}

std::vector<Object> Store::List(const Kind& kind, const std::string& name_space) const {
  std::vector<Object> all;
  const auto objects = objects_.find(&kind);
  if (objects == objects_.end()) return all;
  const std::string prefix = name_space.empty() ? "" : name_space + "/";
  for (auto it = objects->second.lower_bound(prefix);
       it != objects->second.end() && it->first.starts_with(prefix); ++it)
    all.push_back(it->second);
  return all;
}

StatusOr<Store::Page> Store::ListPage(const PageQuery& query) {
  Token token;
  Snapshot fresh{.revision = revision_};
  const Snapshot* from = &fresh;
  if (query.next.empty()) {
    for (auto& object : List(query.kind, query.name_space)) {
      if (query.selector.Matches(*object)) fresh.items.push_back(std::move(object));
    }
  } else {
    const auto read = ReadToken(query.next);
    if (!read.ok()) return read.status();
    token = *read;
    const auto kept = snapshots_.find(token.snapshot);
    if (kept == snapshots_.end())
      return OutOfRange(
          "The provided continue parameter is too old to display a consistent list "
          "result. You can start a new list without the continue parameter.");
    from = &kept->second;
  }
  Page page{.revision = from->revision};
  const size_t size = from->items.size(), start = std::min(token.offset, size);
  const size_t end = query.limit == 0 ? size : std::min(size, start + query.limit);
  page.items.assign(from->items.begin() + static_cast<ptrdiff_t>(start),
                    from->items.begin() + static_cast<ptrdiff_t>(end));
  page.remaining = size - end;
  if (page.remaining == 0) return page;
  if (from == &fresh) {
    token.snapshot = ++last_snapshot_;
    snapshots_[token.snapshot] = std::move(fresh);
    if (snapshots_.size() > kMaxSnapshots) snapshots_.erase(snapshots_.begin());
  }
  page.next = WriteToken({token.snapshot, end});
  return page;
}

StatusOr<std::vector<const Store::Change*>> Store::Since(int64_t revision) const {
  if (revision < compacted_)
    return OutOfRange("too old resource version: {} ({})", revision, compacted_);
  const auto first = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& change) { return change.revision > revision; });
  std::vector<const Change*> since;
  for (auto it = first; it != changes_.end(); ++it) since.push_back(&*it);
  return since;
}

void Store::Compact() {
  compacted_ = ++revision_;
  changes_.clear();
  snapshots_.clear();
}

void Store::Restore(Objects objects, int64_t revision) {
  objects_ = std::move(objects);
  // A revision may be used without a change, so the change numbers may have gaps.
  revision_ = std::max(revision_, revision) + kUnrecorded;
  Compact();
}

void Store::Record(Change change) {
  changes_.push_back(std::move(change));
  if (changes_.size() > window_) {
    compacted_ = changes_.front().revision;
    changes_.pop_front();
  }
  on_change_(changes_.back());
}

}  // namespace splitlet::fake_api
