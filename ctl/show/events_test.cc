#include "ctl/show/events.h"

#include <gtest/gtest.h>

#include "ctl/test_time.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

struct Given {
  const char* object;  // "Pod default/web"
  const char* type;
  const char* reason;
  Duration last;  // ago
  uint32_t count = 1;
};

std::shared_ptr<v1::EventRecord> EventOf(const Given& given) {
  auto event = std::make_shared<v1::EventRecord>();
  const std::string object = given.object;
  const size_t space = object.find(' '), slash = object.find('/');
  event->set_kind(object.substr(0, space));
  event->set_namespace_(object.substr(space + 1, slash - space - 1));
  event->set_name(object.substr(slash + 1));
  event->set_type(given.type);
  event->set_reason(given.reason);
  event->set_message("what happened");
  event->set_component("kubelet");
  event->set_count(given.count);
  event->set_last_wall_ns(ToNanos(kNow - given.last));
  event->set_first_wall_ns(given.count > 1 ? ToNanos(kNow - 10min) : event->last_wall_ns());
  return event;
}

TEST(EventTypes, AreTwo) {
  EXPECT_TRUE(CheckEventTypes({}).ok());
  EXPECT_TRUE(CheckEventTypes({"warning", "Normal"}).ok());
  EXPECT_EQ(CheckEventTypes({"Warning", "Foo"}),
            InvalidArgument("--types Foo: want Normal, Warning or both"));
}

EventList SomeEvents() {
  return {EventOf({"Pod default/web", "Warning", "BackOff", 30s, 4}),
          EventOf({"Pod default/web", "Normal", "Pulled", 5min}),
          EventOf({"Pod kube-system/dns", "Normal", "Started", 1min}),
          EventOf({"Node default/n1", "Normal", "NodeReady", 20s})};
}

std::string Reasons(const EventList& events) {
  std::string text;
  for (const auto& event : events) text += (text.empty() ? "" : " ") + event->reason();
  return text;
}

TEST(Events, AreChosenAndSortedByTheirLastTime) {
  const struct {
    const char* name;
    EventFilter filter;
    const char* want;
  } kCases[] = {
      {"all", {}, "Pulled Started BackOff NodeReady"},
      {"of one pod", {.kind = "Pod", .name = "web"}, "Pulled BackOff"},
      {"of the node", {.kind = "Node", .name = "n1"}, "NodeReady"},
      {"of a namespace", {.name_space = "kube-system"}, "Started"},
      {"warnings", {.types = {"warning"}}, "BackOff"},
      {"of a pod elsewhere", {.kind = "Pod", .name = "web", .name_space = "kube-system"}, ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Reasons(ChooseEvents(SomeEvents(), c.filter)), c.want);
  }
}

TEST(Events, TheObjectIsAKindAndAName) {
  const auto pod = ParseEventObject("pods/web");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->kind + " " + pod->name, "Pod web");
  EXPECT_EQ(ParseEventObject("No/n1").value_or(EventFilter{}).kind, "Node");
  for (const char* wrong : {"web", "pod/", "deployment/web", "/web"})
    EXPECT_EQ(ParseEventObject(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
}

TEST(Events, HaveTheColumnsOfKubectl) {
  const EventList events = ChooseEvents(SomeEvents(), {.name = "web"});
  EXPECT_EQ(EventTable(events, kNow, {}),
            "LAST SEEN           TYPE      REASON    OBJECT    MESSAGE\n"
            "5m                  Normal    Pulled    pod/web   what happened\n"
            "30s (x4 over 10m)   Warning   BackOff   pod/web   what happened\n");
  const std::string wide = EventTable(events, kNow, {.wide = true, .namespaces = true});
  EXPECT_TRUE(wide.starts_with("NAMESPACE   LAST SEEN")) << wide;
  EXPECT_NE(wide.find("kubelet"), std::string::npos) << wide;
}

TEST(Events, AreObjectsOfTheApi) {
  const std::string json = EventListJson(ChooseEvents(SomeEvents(), {.name = "web"}));
  for (const char* part :
       {R"("kind": "Event")", R"("involvedObject": {)", R"("reason": "BackOff")", R"("count": 4)",
        R"("lastTimestamp": "2026-11-21T11:59:30Z")", R"("kind": "List")"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  EXPECT_NE(EventListYaml(SomeEvents()).find("\n- apiVersion: v1\n"), std::string::npos);
}

}  // namespace
}  // namespace splitlet::ctl
