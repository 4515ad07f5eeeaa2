#include "services/status/api/pods/status_patch.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/typed.h"
#include "libs/kube/encode.h"
#include "libs/kube/json_text.h"
#include "libs/kube/quantity.h"
#include "libs/kube/type_info.h"
#include "services/status/pods/phase.h"
#include "services/status/pods/pod_conditions.h"

namespace splitlet::status {
namespace {

namespace pb = google::protobuf;

constexpr std::string_view kDisrupted = "DisruptionTarget";  // other clients set it too
constexpr std::array<std::string_view, 8> kOwned = {"PodScheduled",
                                                    "Ready",
                                                    "Initialized",
                                                    "ContainersReady",
                                                    "PodResizeInProgress",
                                                    "PodResizePending",
                                                    "PodReadyToStartContainers",
                                                    kAllRestarting};

bool IsOwned(std::string_view type) {
  return std::find(kOwned.begin(), kOwned.end(), type) != kOwned.end();
}

const core::PodCondition* FindCondition(const kube::PodStatus& status, std::string_view type) {
  const auto& all = status.conditions();
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const auto& condition) { return condition.type() == type; });
  return it == all.end() ? nullptr : &*it;
}

void MergeConditions(const kube::PodStatus& at_server, const kube::PodStatus& ours, bool keep_times,
                     kube::PodStatus& out) {
  out.clear_conditions();
  const bool ends = !IsTerminal(at_server.phase()) && IsTerminal(ours.phase());
  const bool disrupted = ends && FindCondition(ours, kDisrupted) != nullptr;
  for (const auto& condition : at_server.conditions()) {
    if (IsOwned(condition.type()) || (disrupted && condition.type() == kDisrupted)) continue;
    *out.add_conditions() = condition;
  }
  for (const auto& condition : ours.conditions()) {
    const bool ours_to_set =
        IsOwned(condition.type()) || (disrupted && condition.type() == kDisrupted);
    if (!ours_to_set) continue;
    auto& added = *out.add_conditions() = condition;
    const auto* old = keep_times ? FindCondition(at_server, condition.type()) : nullptr;
    if (old != nullptr && old->status() == added.status() && old->has_last_transition_time())
      *added.mutable_last_transition_time() = old->last_transition_time();
  }
}

/// A pod in a terminal phase is not ready, also if another client set the phase.
void CloseConditions(kube::PodStatus& status) {
  for (auto& condition : *status.mutable_conditions()) {
    if (condition.type() != "Ready" && condition.type() != "ContainersReady") continue;
    if (condition.status() != "True") continue;
    condition.set_status("False");
    condition.set_reason(status.phase() == kSucceeded ? "PodCompleted" : "PodFailed");
  }
}

/// An absent field and a field with its default value are equal: writers in Go send all fields of
/// their structs. Exception: a container's `started`, where absent means unknown.
void DropDefaults(pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    using Field = pb::FieldDescriptor;
    const bool is_message = field->cpp_type() == Field::CPPTYPE_MESSAGE;
    if (field->is_repeated()) {
      for (int i = 0; is_message && i < reflection.FieldSize(message, field); ++i)
        DropDefaults(*reflection.MutableRepeatedMessage(&message, field, i));
      continue;
    }
    bool empty = false;
    if (is_message) {
      pb::Message* part = reflection.MutableMessage(&message, field);
      DropDefaults(*part);
      empty = part->ByteSizeLong() == 0 && field->name() != "waiting";
    } else if (field->cpp_type() == Field::CPPTYPE_STRING) {
      empty = reflection.GetString(message, field).empty();
    } else if (field->cpp_type() == Field::CPPTYPE_BOOL) {
      empty = !reflection.GetBool(message, field) && field->name() != "started";
    } else if (field->cpp_type() == Field::CPPTYPE_INT32) {
      empty = reflection.GetInt32(message, field) == 0;
    } else if (field->cpp_type() == Field::CPPTYPE_INT64) {
      empty = reflection.GetInt64(message, field) == 0;
    }
    if (empty) reflection.ClearField(&message, field);
  }
}

/// The server returns each quantity in its canonical text.
void CanonicalizeQuantities(pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  if (message.GetDescriptor()->name() == "Quantity") {
    const auto* text = message.GetDescriptor()->FindFieldByName("string");
    const auto amount = kube::Quantity::Parse(reflection.GetString(message, text));
    if (amount.ok()) reflection.SetString(&message, text, amount->ToString());
    return;
  }
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CanonicalizeQuantities(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      CanonicalizeQuantities(*reflection.MutableRepeatedMessage(&message, field, i));
  }
}

kube::PodStatus Comparable(const kube::PodStatus& status) {
  kube::PodStatus out = status;
  CanonicalizeQuantities(out);
  DropDefaults(out);
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out;
  kube::AppendJsonString(out, text);
  return out;
}

/// Text of the members of a JSON object or list.
class Members {
 public:
  void Add(std::string_view name, std::string_view json) {
    AddText(Quoted(name).append(":").append(json));
  }
  void AddText(std::string_view text) {
    if (!text_.empty()) text_ += ',';
    text_ += text;
  }
  bool empty() const { return text_.empty(); }
  std::string Object() const { return "{" + text_ + "}"; }
  std::string List() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

/// Moves this field out of `message`, into a message of its own.
std::unique_ptr<pb::Message> TakeField(pb::Message& message, const pb::FieldDescriptor& field) {
  std::unique_ptr<pb::Message> only(message.New());
  message.GetReflection()->SwapFields(&message, only.get(), {&field});
  return only;
}

/// `"name":value` for a message with one field.
std::string MemberOf(const pb::Message& only) {
  const std::string json = kube::ToJson(only);
  return json.substr(1, json.size() - 2);
}

/// Adds each member that differs, whole; null if `to` does not have it.
void AddFields(const pb::Message& from, const pb::Message& to, Members& out) {
  const std::unique_ptr<pb::Message> old(from.New()), now(to.New());
  old->CopyFrom(from);
  now->CopyFrom(to);
  for (const auto& field : kube::TypeInfoOf(*to.GetDescriptor()).fields) {
    const auto before = TakeField(*old, *field.field), after = TakeField(*now, *field.field);
    if (bus::SerializeSorted(*before) == bus::SerializeSorted(*after)) continue;
    if (after->ByteSizeLong() == 0) {
      out.Add(field.json_name, "null");
    } else {
      out.AddText(MemberOf(*after));
    }
  }
}

/// Has an explicit order: a server would put new items first, and takes the first address for the
/// pod's address.
struct ListPatch {
  std::string order, items;  // empty: nothing differs
};

/// For a list whose items are merged by `name`.
template <class List, class Key>
ListPatch MakeListPatch(const List& from, const List& to, std::string_view name, Key key) {
  Members items, order;
  std::map<std::string, const typename List::value_type*> old;
  for (const auto& item : from) old[key(item)] = &item;
  for (const auto& item : to) {
    Members ordered;
    ordered.Add(name, Quoted(key(item)));
    order.AddText(ordered.Object());
    const auto it = old.find(key(item));
    if (it == old.end()) {
      items.AddText(kube::ToJson(item));
      continue;
    }
    Members changed;
    AddFields(*it->second, item, changed);
    old.erase(it);
    if (changed.empty()) continue;
    changed.Add(name, Quoted(key(item)));
    items.AddText(changed.Object());
  }
  for (const auto& [gone, item] : old) {
    Members removed;
    removed.Add("$patch", "\"delete\"");
    removed.Add(name, Quoted(gone));
    items.AddText(removed.Object());
  }
  return items.empty() ? ListPatch{} : ListPatch{order.List(), items.List()};
}

template <class Quantities>
std::string QuantitiesPatch(const Quantities& from, const Quantities& to) {
  Members members;
  std::map<std::string, std::string> now;
  for (const auto& [name, amount] : to) now[name] = amount.string();
  for (const auto& [name, amount] : now) {
    const auto old = from.find(name);
    if (old == from.end() || old->second.string() != amount) members.Add(name, Quoted(amount));
  }
  std::map<std::string, bool> gone;
  for (const auto& [name, amount] : from) gone[name] = !now.contains(name);
  for (const auto& [name, is_gone] : gone)
    if (is_gone) members.Add(name, "null");
  return members.empty() ? std::string() : members.Object();
}

void AddIfAny(std::string_view name, const std::string& json, Members& out) {
  if (!json.empty()) out.Add(name, json);
}

void AddIfAny(const std::string& name, const ListPatch& patch, Members& out) {
  if (patch.items.empty()) return;
  out.Add("$setElementOrder/" + name, patch.order);
  out.Add(name, patch.items);
}

/// Adds the fields that a server merges by part, and clears them in `from` and `to`.
void AddMergedFields(kube::PodStatus& from, kube::PodStatus& to, Members& out) {
  const auto type = [](const auto& condition) { return condition.type(); };
  const auto ip = [](const auto& address) { return address.ip(); };
  AddIfAny("conditions", MakeListPatch(from.conditions(), to.conditions(), "type", type), out);
  AddIfAny("podIPs", MakeListPatch(from.pod_ips(), to.pod_ips(), "ip", ip), out);
  AddIfAny("hostIPs", MakeListPatch(from.host_ips(), to.host_ips(), "ip", ip), out);
  AddIfAny("allocatedResources",
           QuantitiesPatch(from.allocated_resources(), to.allocated_resources()), out);
  Members resources;
  AddIfAny("limits", QuantitiesPatch(from.resources().limits(), to.resources().limits()),
           resources);
  AddIfAny("requests", QuantitiesPatch(from.resources().requests(), to.resources().requests()),
           resources);
  const bool gone = from.has_resources() && !to.has_resources();
  if (gone || !resources.empty()) out.Add("resources", gone ? "null" : resources.Object());
  for (auto* status : {&from, &to}) {
    status->clear_conditions();
    status->clear_pod_ips();
    status->clear_host_ips();
    status->clear_allocated_resources();
    status->clear_resources();
  }
}

}  // namespace

kube::PodStatus MergeStatus(const kube::PodStatus& at_server, const kube::PodStatus& ours,
                            const MergeOptions& options) {
  kube::PodStatus out = ours;
  MergeConditions(at_server, ours, options.keep_times, out);
  *out.mutable_resource_claim_statuses() = at_server.resource_claim_statuses();
  *out.mutable_node_allocatable_resource_claim_statuses() =
      at_server.node_allocatable_resource_claim_statuses();
  out.clear_extended_resource_claim_status();
  if (at_server.has_extended_resource_claim_status())
    *out.mutable_extended_resource_claim_status() = at_server.extended_resource_claim_status();
  if (!at_server.qos_class().empty()) out.set_qos_class(at_server.qos_class());
  if (at_server.observed_generation() > out.observed_generation())
    out.set_observed_generation(at_server.observed_generation());
  if (!options.mirror) {
    if (at_server.start_time().seconds() > 0) *out.mutable_start_time() = at_server.start_time();
    if (IsTerminal(at_server.phase()) && at_server.phase() != ours.phase()) {
      out.set_phase(at_server.phase());
      out.set_reason(at_server.reason());
      out.set_message(at_server.message());
    }
  }
  if (IsTerminal(out.phase())) CloseConditions(out);
  return out;
}

std::string MakeStatusPatch(const std::string& uid, const kube::PodStatus& from,
                            const kube::PodStatus& to) {
  kube::PodStatus old = Comparable(from), now = Comparable(to);
  Members status;
  AddMergedFields(old, now, status);
  AddFields(old, now, status);
  if (status.empty()) return {};
  Members metadata, patch;
  metadata.Add("uid", Quoted(uid));
  patch.Add("metadata", metadata.Object());
  patch.Add("status", status.Object());
  return patch.Object();
}

}  // namespace splitlet::status
