#include "libs/fake_api/patch.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/type_info.h"

namespace splitlet::fake_api {
namespace {

Json Read(std::string_view text) {
  auto json = ParseJson(text);
  CHECK(json.ok(), "{}: {}", text, json.status());
  return *json;
}

TEST(FakePatch, StrategicMergeOfPods) {
  const struct {
    const char *name, *before, *patch, *after;
  } kCases[] = {
      {"a member that is null goes away", R"({"status":{"phase":"Pending","reason":"a"}})",
       R"({"status":{"reason":null}})", R"({"status":{"phase":"Pending"}})"},
      {"conditions merge by their type",
       R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"B","status":"True"},)"
       R"({"type":"A","status":"True"}]}})"},
      {"a new item comes first", R"({"status":{"podIPs":[{"ip":"10.0.0.1"}]}})",
       R"({"status":{"podIPs":[{"ip":"fd00::1"}]}})",
       R"({"status":{"podIPs":[{"ip":"fd00::1"},{"ip":"10.0.0.1"}]}})"},
      {"what the patch does not name keeps its place",
       R"({"status":{"conditions":[{"type":"A"},{"type":"B"},{"type":"C"}]}})",
       R"({"status":{"conditions":[{"type":"C","status":"True"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"A"},{"type":"C","status":"True"},)"
       R"({"type":"B","status":"True"}]}})"},
      {"the order that the patch names is taken",
       R"({"status":{"conditions":[{"type":"A"},{"type":"B"}]}})",
       R"({"status":{"$setElementOrder/conditions":[{"type":"B"},{"type":"A"}],"conditions":)"
       R"([{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B"},{"type":"A","status":"True"}]}})"},
      {"an item is deleted by its key", R"({"status":{"conditions":[{"type":"A"},{"type":"B"}]}})",
       R"({"status":{"conditions":[{"$patch":"delete","type":"A"}]}})",
       R"({"status":{"conditions":[{"type":"B"}]}})"},
      {"container statuses are one value", R"({"status":{"containerStatuses":[{"name":"a"}]}})",
       R"({"status":{"containerStatuses":[{"name":"b","ready":true}]}})",
       R"({"status":{"containerStatuses":[{"name":"b","ready":true}]}})"},
      {"addresses merge by ip", R"({"status":{"podIPs":[{"ip":"10.0.0.1"}]}})",
       R"({"status":{"podIPs":[{"ip":"fd00::1"},{"ip":"10.0.0.1","$patch":"delete"}]}})",
       R"({"status":{"podIPs":[{"ip":"fd00::1"}]}})"},
      {"a list is replaced on demand", R"({"status":{"conditions":[{"type":"A"}]}})",
       R"({"status":{"conditions":[{"type":"C"},{"$patch":"replace"}]}})",
       R"({"status":{"conditions":[{"type":"C"}]}})"},
      {"finalizers are a set", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["b","c"]}})",
       R"({"metadata":{"finalizers":["b","c"]}})"},
      {"labels are merged", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"b":null,"c":"3"}}})",
       R"({"metadata":{"labels":{"a":"1","c":"3"}}})"},
      {"keys that are not retained go away",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/a"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/a"}}]}})"},
      {"what is new comes without directives and nulls", R"({})",
       R"({"status":{"$setElementOrder/conditions":[],"phase":"Running","reason":null}})",
       R"({"status":{"phase":"Running"}})"},
  };
  const auto& pod =
      kube::TypeInfoOf(*k8s::io::api::core::v1::Pod::default_instance().GetDescriptor());
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto after = StrategicMergePatch(Read(c.before), Read(c.patch), &pod);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(WriteJson(*after), WriteJson(Read(c.after)));
  }
}

TEST(FakePatch, AnItemWithoutItsKeyIsRefused) {
  const auto& pod =
      kube::TypeInfoOf(*k8s::io::api::core::v1::Pod::default_instance().GetDescriptor());
  const auto after =
      StrategicMergePatch(Read(R"({"status":{"conditions":[]}})"),
                          Read(R"({"status":{"conditions":[{"status":"True"}]}})"), &pod);
  EXPECT_EQ(after.status().code(), StatusCode::kInvalidArgument);
}

TEST(FakePatch, MergePatch) {
  EXPECT_EQ(WriteJson(MergePatch(Read(R"({"a":{"b":1,"c":[1,2]},"d":"x"})"),
                                 Read(R"({"a":{"b":null,"c":[3]},"e":{"f":null,"g":true}})"))),
            R"({"a":{"c":[3]},"d":"x","e":{"g":true}})");
}

TEST(FakePatch, JsonPatch) {
  const struct {
    const char *name, *patch, *after;  // after: "" if the patch is refused
  } kCases[] = {
      {"add a member", R"([{"op":"add","path":"/b","value":1}])", R"({"a":[1,2],"b":1,"x/y":"z"})"},
      {"add an item", R"([{"op":"add","path":"/a/1","value":9}])", R"({"a":[1,9,2],"x/y":"z"})"},
      {"append", R"([{"op":"add","path":"/a/-","value":9}])", R"({"a":[1,2,9],"x/y":"z"})"},
      {"remove", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2],"x/y":"z"})"},
      {"replace by an escaped name", R"([{"op":"replace","path":"/x~1y","value":"w"}])",
       R"({"a":[1,2],"x/y":"w"})"},
      {"move", R"([{"op":"move","from":"/a","path":"/c"}])", R"({"c":[1,2],"x/y":"z"})"},
      {"a test that holds", R"([{"op":"test","path":"/a/1","value":2}])",
       R"({"a":[1,2],"x/y":"z"})"},
      {"a test that fails", R"([{"op":"test","path":"/a/1","value":3}])", ""},
      {"what is not there", R"([{"op":"remove","path":"/q"}])", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto after = JsonPatch(Read(R"({"a":[1,2],"x/y":"z"})"), Read(c.patch));
    EXPECT_EQ(after.ok() ? WriteJson(*after) : "", c.after);
  }
}

}  // namespace
}  // namespace splitlet::fake_api
