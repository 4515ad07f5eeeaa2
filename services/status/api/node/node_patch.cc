#include "services/status/api/node/node_patch.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/status.h"
#include "libs/kube/encode.h"

namespace splitlet::status {
namespace {

using rapidjson::Value;
using Allocator = rapidjson::Document::AllocatorType;

constexpr const char* kHeartbeat = "lastHeartbeatTime";

const Value& Nothing() {
  static const Value nothing;
  return nothing;
}

const Value& Member(const Value& object, const char* name) {
  if (!object.IsObject()) return Nothing();
  const auto it = object.FindMember(name);
  return it == object.MemberEnd() ? Nothing() : it->value;
}

/// A default value, which a server may leave out or add.
bool IsEmpty(const Value& value) {
  if (value.IsObject())
    return std::all_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& member) { return IsEmpty(member.value); });
  if (value.IsArray()) return value.Empty();
  if (value.IsString()) return value.GetStringLength() == 0;
  return value.IsNull() || value.IsFalse() || (value.IsNumber() && value.GetDouble() == 0);
}

bool Same(const Value& a, const Value& b) {
  if (IsEmpty(a) || IsEmpty(b)) return IsEmpty(a) && IsEmpty(b);
  if (a.IsObject() && b.IsObject()) {
    const auto covers = [](const Value& x, const Value& y) {
      return std::all_of(x.MemberBegin(), x.MemberEnd(), [&y](const auto& member) {
        return Same(member.value, Member(y, member.name.GetString()));
      });
    };
    return covers(a, b) && covers(b, a);
  }
  if (a.IsArray() && b.IsArray())
    return a.Size() == b.Size() &&
           std::equal(a.Begin(), a.End(), b.Begin(),
                      [](const Value& x, const Value& y) { return Same(x, y); });
  return a == b;
}

class Differ {
 public:
  explicit Differ(Allocator& memory) : memory_(memory) {}

  /// Members of `after` that differ; null for each member that only `before` has.
  Value Objects(const Value& before, const Value& after) {
    Value patch(rapidjson::kObjectType);
    if (after.IsObject())
      for (const auto& member : after.GetObject()) {
        const Value& old = Member(before, member.name.GetString());
        if (Same(old, member.value)) continue;
        if (old.IsObject() && member.value.IsObject()) {
          Add(patch, member.name, Objects(old, member.value));
        } else {
          Add(patch, member.name, Value(member.value, memory_));
        }
      }
    if (before.IsObject())
      for (const auto& member : before.GetObject())
        if (!IsEmpty(member.value) && IsEmpty(Member(after, member.name.GetString())) &&
            !patch.HasMember(member.name))
          Add(patch, member.name, Value());
    return patch;
  }

  /// Conditions that differ; a server merges them by type. Sets `changed` if more than a heartbeat
  /// time differs.
  Value Conditions(const Value& before, const Value& after, bool& changed) {
    Value patch(rapidjson::kArrayType);
    if (!after.IsArray()) return patch;
    for (const Value& condition : after.GetArray()) {
      const Value& old = OfType(before, Member(condition, "type"));
      if (Same(old, condition)) continue;
      patch.PushBack(Value(condition, memory_), memory_);
      changed = changed || !Same(WithoutHeartbeat(old), WithoutHeartbeat(condition));
    }
    return patch;
  }

  /// Replaces the list: a merge by type would lose an address where two have the same type.
  Value Addresses(const Value& before, const Value& after) {
    Value list(rapidjson::kArrayType);
    if (after.IsArray()) list.CopyFrom(after, memory_);
    if (IsEmpty(before)) return list;
    Value directive(rapidjson::kObjectType);
    directive.AddMember("$patch", "replace", memory_);
    list.PushBack(directive, memory_);
    return list;
  }

  void Add(Value& object, const Value& name, Value value) {
    object.AddMember(Value(name, memory_), value, memory_);
  }
  void Add(Value& object, const char* name, Value value) {
    object.AddMember(rapidjson::StringRef(name), value, memory_);
  }

 private:
  static const Value& OfType(const Value& conditions, const Value& type) {
    if (conditions.IsArray())
      for (const Value& one : conditions.GetArray())
        if (Member(one, "type") == type) return one;
    return Nothing();
  }
  Value WithoutHeartbeat(const Value& condition) {
    Value copy(condition, memory_);
    if (copy.IsObject()) copy.RemoveMember(kHeartbeat);
    return copy;
  }

  Allocator& memory_;
};

rapidjson::Document Parsed(const google::protobuf::Message& message) {
  rapidjson::Document document;
  document.Parse(kube::ToJson(message).c_str());
  CHECK(!document.HasParseError());
  return document;
}

std::string JsonOf(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

/// Moves the member `name` of `from` to `into`.
void TakeOut(Value& from, const char* name, Value& into) {
  if (!from.IsObject() || !from.HasMember(name)) return;
  into.Swap(from[name]);
  from.RemoveMember(name);
}

template <class Items>
bool SameItems(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.SerializeAsString() == y.SerializeAsString();
  });
}

}  // namespace

Unkept Unkept::In(const kube::Node& sent, const kube::Node& stored) {
  const auto &a = sent.status(), &b = stored.status();
  return {.declared_features = !std::ranges::equal(a.declared_features(), b.declared_features()),
          .runtime_handlers = !SameItems(a.runtime_handlers(), b.runtime_handlers()),
          .features = a.features().SerializeAsString() != b.features().SerializeAsString(),
          .swap = a.node_info().swap().capacity() != b.node_info().swap().capacity()};
}

Unkept Unkept::operator|(const Unkept& other) const {
  return {.declared_features = declared_features || other.declared_features,
          .runtime_handlers = runtime_handlers || other.runtime_handlers,
          .features = features || other.features,
          .swap = swap || other.swap};
}

void Unkept::LeaveAsIn(const kube::Node& stored, kube::Node& node) const {
  const auto& from = stored.status();
  auto& to = *node.mutable_status();
  if (declared_features) *to.mutable_declared_features() = from.declared_features();
  if (runtime_handlers) *to.mutable_runtime_handlers() = from.runtime_handlers();
  if (features) *to.mutable_features() = from.features();
  if (!swap) return;
  to.mutable_node_info()->clear_swap();
  if (from.node_info().has_swap())
    *to.mutable_node_info()->mutable_swap() = from.node_info().swap();
}

NodePatch MakeNodePatch(const kube::Node& before, const kube::Node& after) {
  rapidjson::Document old = Parsed(before.status()), now = Parsed(after.status());
  rapidjson::Document patch(rapidjson::kObjectType);
  Differ differ(patch.GetAllocator());
  NodePatch result;

  Value old_conditions, conditions, old_addresses, addresses;
  TakeOut(old, "conditions", old_conditions);
  TakeOut(now, "conditions", conditions);
  TakeOut(old, "addresses", old_addresses);
  TakeOut(now, "addresses", addresses);
  Value status = differ.Objects(old, now);
  if (!Same(old_addresses, addresses))
    differ.Add(status, "addresses", differ.Addresses(old_addresses, addresses));
  result.changed = !status.ObjectEmpty();
  Value differing = differ.Conditions(old_conditions, conditions, result.changed);
  if (!differing.Empty()) differ.Add(status, "conditions", std::move(differing));

  const rapidjson::Document old_meta = Parsed(before.metadata()), meta = Parsed(after.metadata());
  Value metadata(rapidjson::kObjectType);
  for (const char* name : {"labels", "annotations"}) {
    Value difference = differ.Objects(Member(old_meta, name), Member(meta, name));
    if (!difference.ObjectEmpty()) differ.Add(metadata, name, std::move(difference));
  }
  if (!metadata.ObjectEmpty()) {
    result.changed = true;
    differ.Add(patch, "metadata", std::move(metadata));
  }
  if (!status.ObjectEmpty()) differ.Add(patch, "status", std::move(status));
  if (!patch.ObjectEmpty()) result.json = JsonOf(patch);
  return result;
}

}  // namespace splitlet::status
