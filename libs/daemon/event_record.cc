#include "libs/daemon/event_record.h"

#include <string_view>
#include <utility>

#include "splitlet/v1/services.pb.h"

namespace splitlet::daemon {
namespace {

/// Readers of events see one agent of the node, under the name that they know.
constexpr const char* kComponent = "kubelet";
constexpr const char* kNamespaceOfNodeEvents = "default";

v1::EventRecord::Step ToProto(PodEvent::Step step) {
  switch (step) {
    case PodEvent::Step::kOther: return v1::EventRecord::OTHER;
    case PodEvent::Step::kPullBegan: return v1::EventRecord::PULL_BEGAN;
    case PodEvent::Step::kPullEnded: return v1::EventRecord::PULL_ENDED;
  }
  UNREACHABLE();
}

}  // namespace

std::string FieldPathOf(const PodEvent& event) {
  if (event.container.empty()) return "";
  const std::string_view list = event.init_container        ? "initContainers"
                                : event.ephemeral_container ? "ephemeralContainers"
                                                            : "containers";
  return fmt::format("spec.{}{{{}}}", list, event.container);
}

PodEvent NodeEvent(const std::string& node_name, NodeEventText text) {
  return {.warning = text.warning,
          .reason = std::move(text.reason),
          .message = std::move(text.message),
          .name_space = kNamespaceOfNodeEvents,
          .name = node_name,
          .uid = node_name,
          .about_node = true};
}

v1::EventRecord RecordOf(const PodEvent& event) {
  v1::EventRecord record;
  record.set_type(event.warning ? "Warning" : "Normal");
  record.set_reason(event.reason);
  record.set_message(event.message);
  record.set_component(kComponent);
  record.set_kind(event.about_node ? "Node" : "Pod");
  record.set_namespace_(event.name_space);
  record.set_name(event.name);
  record.set_uid(event.uid);
  if (const auto path = FieldPathOf(event); !path.empty()) record.set_field_path(path);
  record.set_count(1);
  record.set_step(ToProto(event.step));
  record.mutable_annotations()->insert(event.annotations.begin(), event.annotations.end());
  return record;
}

}  // namespace splitlet::daemon
