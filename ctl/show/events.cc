#include "ctl/show/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ctl/show/objects.h"
#include "k8s.io/api/core/v1/event.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

namespace core = k8s::io::api::core::v1;
using Time = k8s::io::apimachinery::pkg::apis::meta::v1::Time;

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "30s", or "30s (x4 over 10m)".
std::string LastSeen(const v1::EventRecord& event, WallTime now) {
  const std::string last = operate::Age(now, event.last_wall_ns());
  return event.count() <= 1 ? last
                            : fmt::format("{} (x{} over {})", last, event.count(),
                                          operate::Age(now, event.first_wall_ns()));
}

/// Names each event uniquely, as a kubelet does.
std::string NameOf(const v1::EventRecord& event) {
  return fmt::format("{}.{:x}", event.name(), static_cast<uint64_t>(event.first_wall_ns()));
}

void SetTime(int64_t wall_ns, Time& time) {
  time.set_seconds(wall_ns / 1'000'000'000);
  time.set_nanos(static_cast<int32_t>(wall_ns % 1'000'000'000));
}

core::Event ToObject(const v1::EventRecord& record) {
  core::Event event;
  event.mutable_metadata()->set_name(NameOf(record));
  event.mutable_metadata()->set_namespace_(record.namespace_());
  SetTime(record.first_wall_ns(), *event.mutable_metadata()->mutable_creation_timestamp());
  event.mutable_metadata()->mutable_annotations()->insert(record.annotations().begin(),
                                                          record.annotations().end());
  auto& object = *event.mutable_involved_object();
  object.set_kind(record.kind());
  object.set_api_version("v1");
  object.set_name(record.name());
  if (record.kind() != "Node") object.set_namespace_(record.namespace_());
  object.set_uid(record.uid());
  if (!record.field_path().empty()) object.set_field_path(record.field_path());
  event.set_reason(record.reason());
  event.set_message(record.message());
  event.set_type(record.type());
  event.set_count(static_cast<int32_t>(std::max<uint32_t>(record.count(), 1)));
  event.mutable_source()->set_component(record.component());
  event.set_reporting_component(record.component());
  SetTime(record.first_wall_ns(), *event.mutable_first_timestamp());
  SetTime(record.last_wall_ns(), *event.mutable_last_timestamp());
  return event;
}

std::string ListText(const EventList& events,
                     std::string (*print)(const std::vector<ApiObject>& objects)) {
  std::vector<core::Event> converted;
  for (const auto& event : events) converted.push_back(ToObject(*event));
  std::vector<ApiObject> objects;
  for (const core::Event& event : converted) objects.push_back({"Event", event});
  return print(objects);
}

}  // namespace

StatusOr<EventFilter> ParseEventObject(const std::string& object) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> kKinds = {{{"pod", "Pod"},
                                                                                 {"pods", "Pod"},
                                                                                 {"po", "Pod"},
                                                                                 {"node", "Node"},
                                                                                 {"nodes", "Node"},
                                                                                 {"no", "Node"}}};
  const size_t slash = object.find('/');
  const auto* const kind = std::ranges::find(kKinds, Lower(object.substr(0, slash)),
                                             [](const auto& k) { return k.first; });
  if (slash == std::string::npos || slash + 1 == object.size() || kind == kKinds.end())
    return InvalidArgument("--for {}: want pod/NAME or node/NAME", object);
  return EventFilter{.kind = kind->second, .name = object.substr(slash + 1)};
}

Status CheckEventTypes(const std::vector<std::string>& types) {
  for (const std::string& type : types)
    if (Lower(type) != "normal" && Lower(type) != "warning")
      return InvalidArgument("--types {}: want Normal, Warning or both", type);
  return OkStatus();
}

EventList ChooseEvents(const EventList& events, const EventFilter& filter) {
  const auto is = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  EventList chosen;
  std::ranges::copy_if(events, std::back_inserter(chosen), [&](const auto& event) {
    const bool type =
        filter.types.empty() || std::ranges::any_of(filter.types, [&event](const auto& t) {
          return Lower(t) == Lower(event->type());
        });
    return type && is(filter.kind, event->kind()) && is(filter.name, event->name()) &&
           is(filter.name_space, event->namespace_());
  });
  std::ranges::stable_sort(chosen, {}, [](const auto& event) { return event->last_wall_ns(); });
  return chosen;
}

std::string EventTable(const EventList& events, WallTime now, const EventTableOptions& options) {
  std::vector<std::string> header = {"LAST SEEN", "TYPE", "REASON", "OBJECT"};
  if (options.namespaces) header.insert(header.begin(), "NAMESPACE");
  if (options.wide) header.insert(header.end(), {"SUBOBJECT", "SOURCE"});
  header.emplace_back("MESSAGE");
  if (options.wide) header.insert(header.end(), {"FIRST SEEN", "COUNT", "NAME"});
  operate::Table table(std::move(header));
  for (const auto& event : events) {
    std::vector<std::string> row = {LastSeen(*event, now), event->type(), event->reason(),
                                    Lower(event->kind()) + "/" + event->name()};
    if (options.namespaces) row.insert(row.begin(), event->namespace_());
    if (options.wide) row.insert(row.end(), {event->field_path(), event->component()});
    row.push_back(event->message());
    if (options.wide)
      row.insert(row.end(),
                 {operate::Age(now, event->first_wall_ns()),
                  fmt::format("{}", std::max<uint32_t>(event->count(), 1)), NameOf(*event)});
    table.Add(std::move(row));
  }
  return table.Text(options.header);
}

std::string EventListJson(const EventList& events) { return ListText(events, ListJson); }

std::string EventListYaml(const EventList& events) { return ListText(events, ListYaml); }

void AddEvents(Fields& out, const EventList& events, WallTime now) {
  if (events.empty()) return out.Add("Events", "<none>");
  operate::Table table({"Type", "Reason", "Age", "From", "Message"});
  table.Add({"----", "------", "---", "----", "-------"});
  for (const auto& event : events)
    table.Add({event->type(), event->reason(), LastSeen(*event, now), event->component(),
               event->message()});
  out.Head("Events");
  out.Raw(operate::Indented(table.Text(), 2));
}

}  // namespace splitlet::ctl
