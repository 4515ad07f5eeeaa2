#pragma once

/// Kubernetes events that `status` keeps, as `get events` and `describe` show them.
/// Threads: any.
/// Errors: none.
/// Source: kubectl's columns of events; Kubernetes API, Event.

#include <memory>
#include <string>
#include <vector>

#include "ctl/show/fields.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::v1 {
class EventRecord;
}

namespace splitlet::ctl {

using EventList = std::vector<std::shared_ptr<v1::EventRecord>>;

/// Which events are shown; an empty field allows all.
struct EventFilter {
  std::string kind, name;  // "Pod", "web"
  std::string name_space;
  std::vector<std::string> types;  // "Normal", "Warning"; in any case of letters
};
/// "pod/web", "pods/web", "node/n1", as --for takes them.
StatusOr<EventFilter> ParseEventObject(const std::string& object);
/// INVALID_ARGUMENT for a word that is no event type.
Status CheckEventTypes(const std::vector<std::string>& types);
/// The events that pass the filter, the newest last.
EventList ChooseEvents(const EventList& events, const EventFilter& filter);

struct EventTableOptions {
  bool wide = false;
  bool namespaces = false;
  bool header = true;
};
std::string EventTable(const EventList& events, WallTime now, const EventTableOptions& options);

/// Lists of Kubernetes objects.
std::string EventListJson(const EventList& events);
std::string EventListYaml(const EventList& events);

/// The last part of `describe`.
void AddEvents(Fields& out, const EventList& events, WallTime now);

}  // namespace splitlet::ctl
