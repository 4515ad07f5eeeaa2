#include "libs/fake_api/patch.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "libs/kube/type_info.h"
#include "splitlet/v1/options.pb.h"

namespace splitlet::fake_api {
namespace {

constexpr std::string_view kOrderPrefix = "$setElementOrder/";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";

/// How a patch merges into a field.
struct Merging {
  const kube::TypeInfo* type = nullptr;  // type of the value, or of the list's items
  bool merges_list = false, replaces_map = false;
  std::string key;  // field that identifies items of a merged list; "" for plain values
};

Merging MergingOf(const kube::TypeInfo* type, const std::string& name) {
  if (type == nullptr) return {};
  const auto it = type->lookup.find(name);
  if (it == type->lookup.end()) return {};
  const auto& options = it->second->field->options();
  const std::string strategy = options.GetExtension(splitlet::v1::patch_strategy);
  return {.type = it->second->is_map ? nullptr : it->second->type,
          .merges_list = it->second->is_list && strategy.starts_with("merge"),
          .replaces_map = strategy == "replace",
          .key = options.GetExtension(splitlet::v1::merge_key)};
}

bool IsDirective(const std::string& key) { return key.starts_with("$"); }

/// The value that a patch sets where none existed: the patch without its directives.
Json WithoutDirectives(const Json& patch) {
  Json plain{patch.kind, patch.text, {}, {}};
  for (const auto& [key, value] : patch.members) {
    if (!IsDirective(key) && !value.is_null()) plain.members[key] = WithoutDirectives(value);
  }
  for (const auto& item : patch.items) {
    if (item.TextOf("$patch").empty()) plain.items.push_back(WithoutDirectives(item));
  }
  return plain;
}

Json MergePlainList(Json list, const Json& patch) {
  for (const auto& item : patch.items) {
    if (std::find(list.items.begin(), list.items.end(), item) == list.items.end())
      list.items.push_back(item);
  }
  return list;
}

/// Items that `order` names keep the order of `order`; the other items keep that of `before`.
/// Between the two groups `before` decides if it has both items; otherwise the item that `order`
/// names comes first, so a new item leads the list.
void Sort(Json& list, const Json& before, const Json& order, const std::string& key) {
  const auto place = [&key](const Json& in, const Json& item) {
    const auto same = [&](const Json& one) {
      return key.empty() ? one == item : one.TextOf(key) == item.TextOf(key);
    };
    return std::find_if(in.items.begin(), in.items.end(), same) - in.items.begin();
  };
  const auto unknown = static_cast<ptrdiff_t>(before.items.size());
  std::vector<Json> named, others;
  for (auto& item : list.items) {
    const bool is_named = place(order, item) < static_cast<ptrdiff_t>(order.items.size());
    (is_named ? named : others).push_back(std::move(item));
  }
  std::stable_sort(named.begin(), named.end(),
                   [&](const Json& a, const Json& b) { return place(order, a) < place(order, b); });
  list.items.clear();
  auto next = named.begin();
  for (auto& other : others) {
    const auto goes_before = [&](const Json& item) {
      const auto at = place(before, item), others_at = place(before, other);
      return at == unknown || others_at == unknown || at < others_at;
    };
    while (next != named.end() && goes_before(*next)) list.items.push_back(std::move(*next++));
    list.items.push_back(std::move(other));
  }
  std::move(next, named.end(), std::back_inserter(list.items));
}

StatusOr<Json> MergeKeyedList(Json list, const Json& patch, const Merging& merging) {
  for (const auto& item : patch.items) {
    if (item.TextOf("$patch") != "replace") continue;
    return WithoutDirectives(patch);
  }
  for (const auto& item : patch.items) {
    const std::string key = item.TextOf(merging.key);
    if (key.empty())
      return InvalidArgument("map: {} does not contain declared merge key: {}", WriteJson(item),
                             merging.key);
    const auto same = [&](const Json& other) { return other.TextOf(merging.key) == key; };
    const auto found = std::find_if(list.items.begin(), list.items.end(), same);
    if (item.TextOf("$patch") == "delete") {
      if (found != list.items.end()) list.items.erase(found);
    } else if (found == list.items.end()) {
      list.items.push_back(WithoutDirectives(item));
    } else {
      auto merged = StrategicMergePatch(*found, item, merging.type);
      if (!merged.ok()) return merged.status();
      *found = std::move(*merged);
    }
  }
  return list;
}

void RetainKeys(Json& document, const Json& patch) {
  const Json* retained = patch.Find("$retainKeys");
  if (retained == nullptr) return;
  std::set<std::string> names;
  for (const auto& item : retained->items) names.insert(item.text);
  std::erase_if(document.members,
                [&](const auto& member) { return !names.contains(member.first); });
}

void DeleteFromPlainLists(Json& document, const Json& patch) {
  for (const auto& [key, value] : patch.members) {
    if (!key.starts_with(kDeletePrefix)) continue;
    Json* list = document.Find(key.substr(kDeletePrefix.size()));
    if (list == nullptr) continue;
    const auto& gone = value.items;
    std::erase_if(list->items, [&](const Json& item) {
      return std::find(gone.begin(), gone.end(), item) != gone.end();
    });
  }
}

/// A merged list without an explicit order gets the order of the patch.
void SetOrders(Json& document, const Json& before, const Json& patch, const kube::TypeInfo* type) {
  const Json nothing;
  for (const auto& [key, value] : patch.members) {
    const bool is_order = key.starts_with(kOrderPrefix);
    const std::string name = is_order ? key.substr(kOrderPrefix.size()) : key;
    if (!is_order && patch.Find(std::string(kOrderPrefix) + key) != nullptr) continue;
    const Merging merging = MergingOf(type, name);
    Json* const list = document.Find(name);
    const Json* const old = before.Find(name);
    if (list == nullptr || !list->is_list() || !value.is_list() || !merging.merges_list) continue;
    Sort(*list, old == nullptr ? nothing : *old, value, merging.key);
  }
}

StatusOr<Json> MergeMember(const Json& before, const Json& patch, const Merging& merging) {
  if (before.is_map() && patch.is_map() && !merging.replaces_map)
    return StrategicMergePatch(before, patch, merging.type);
  if (before.is_list() && patch.is_list() && merging.merges_list)
    return merging.key.empty() ? MergePlainList(before, patch)
                               : MergeKeyedList(before, patch, merging);
  return WithoutDirectives(patch);
}

// JSON patches (RFC 6902).

std::vector<std::string> PartsOf(std::string_view pointer) {
  std::vector<std::string> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    std::string part;
    for (size_t i = 0; i < end; ++i) {
      const bool escape = pointer[i] == '~' && i + 1 < end;
      part += !escape ? pointer[i] : pointer[i + 1] == '1' ? '/' : '~';
      if (escape) ++i;
    }
    parts.push_back(std::move(part));
    pointer.remove_prefix(end);
  }
  return parts;
}

/// Index of an item, or the number of items for "-", the end.
size_t IndexOf(const Json& list, const std::string& part) {
  size_t index = list.items.size();
  if (part != "-") std::from_chars(part.data(), part.data() + part.size(), index);
  return index;
}

Json* Step(Json* at, const std::string& part) {
  if (at->is_map()) return at->Find(part);
  if (!at->is_list()) return nullptr;
  const size_t index = IndexOf(*at, part);
  return index < at->items.size() ? &at->items[index] : nullptr;
}

Json* FindAt(Json& document, const std::vector<std::string>& parts, size_t count) {
  Json* at = &document;
  for (size_t i = 0; i < count && at != nullptr; ++i) at = Step(at, parts[i]);
  return at;
}

Status Missing(const std::string& path) {
  return FailedPrecondition("the path {} is not in the document", path);
}

Status AddAt(Json& document, const std::string& path, const Json& value) {
  const auto parts = PartsOf(path);
  if (parts.empty()) return document = value, OkStatus();
  Json* holder = FindAt(document, parts, parts.size() - 1);
  if (holder == nullptr) return Missing(path);
  if (holder->is_map()) return holder->members[parts.back()] = value, OkStatus();
  if (!holder->is_list()) return Missing(path);
  const size_t index = IndexOf(*holder, parts.back());
  if (index > holder->items.size()) return Missing(path);
  holder->items.insert(holder->items.begin() + static_cast<ptrdiff_t>(index), value);
  return OkStatus();
}

Status RemoveAt(Json& document, const std::string& path) {
  const auto parts = PartsOf(path);
  if (parts.empty() || FindAt(document, parts, parts.size()) == nullptr) return Missing(path);
  Json* holder = FindAt(document, parts, parts.size() - 1);
  if (holder->is_map()) {
    holder->members.erase(parts.back());
  } else {
    holder->items.erase(holder->items.begin() +
                        static_cast<ptrdiff_t>(IndexOf(*holder, parts.back())));
  }
  return OkStatus();
}

Status Operate(Json& document, const Json& operation) {
  const std::string op = operation.TextOf("op"), path = operation.TextOf("path");
  const Json* given = operation.Find("value");
  Json value = given == nullptr ? Json{} : *given;
  const auto parts = PartsOf(path);
  if (op == "add") return AddAt(document, path, value);
  if (op == "remove") return RemoveAt(document, path);
  if (op == "move" || op == "copy") {
    const std::string from = operation.TextOf("from");
    const auto from_parts = PartsOf(from);
    const Json* found = FindAt(document, from_parts, from_parts.size());
    if (found == nullptr) return Missing(from);
    value = *found;
    if (op == "move") {
      if (Status removed = RemoveAt(document, from); !removed.ok()) return removed;
    }
    return AddAt(document, path, value);
  }
  Json* found = FindAt(document, parts, parts.size());
  if (op == "replace") {
    if (found == nullptr) return Missing(path);
    return *found = value, OkStatus();
  }
  if (op != "test") return InvalidArgument("Unexpected kind: {}", op);
  if (found == nullptr || !(*found == value))
    return FailedPrecondition("testing value {} failed", path);
  return OkStatus();
}

}  // namespace

Json MergePatch(Json document, const Json& patch) {
  if (!patch.is_map()) return patch;
  if (!document.is_map()) document = Json::Map();
  for (const auto& [key, value] : patch.members) {
    if (value.is_null()) {
      document.members.erase(key);
    } else {
      document.members[key] = MergePatch(std::move(document.members[key]), value);
    }
  }
  return document;
}

StatusOr<Json> StrategicMergePatch(Json document, const Json& patch, const kube::TypeInfo* type) {
  if (!patch.is_map()) return InvalidArgument("expected a map, found {}", WriteJson(patch));
  const std::string directive = patch.TextOf("$patch");
  if (directive == "replace") return WithoutDirectives(patch);
  if (directive == "delete") return Json::Map();
  if (!directive.empty() && directive != "merge")
    return InvalidArgument("Unknown patch type found: {}", directive);
  const Json original = document;
  RetainKeys(document, patch);
  DeleteFromPlainLists(document, patch);
  for (const auto& [key, value] : patch.members) {
    if (IsDirective(key)) continue;
    Json* before = document.Find(key);
    if (value.is_null()) {
      document.members.erase(key);
    } else if (before == nullptr) {
      document.members[key] = WithoutDirectives(value);
    } else {
      auto merged = MergeMember(*before, value, MergingOf(type, key));
      if (!merged.ok()) return merged.status();
      *before = std::move(*merged);
    }
  }
  SetOrders(document, original, patch, type);
  return document;
}

StatusOr<Json> JsonPatch(Json document, const Json& operations) {
  if (!operations.is_list()) return InvalidArgument("a JSON patch is a list");
  for (const auto& operation : operations.items) {
    if (Status done = Operate(document, operation); !done.ok()) return done;
  }
  return document;
}

}  // namespace splitlet::fake_api
