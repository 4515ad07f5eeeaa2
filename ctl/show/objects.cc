#include "ctl/show/objects.h"

#include "libs/kube/codec.h"
#include "libs/operate/text.h"

namespace splitlet::ctl {
namespace {

std::string Trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

kube::EncodeOptions OptionsOf(const ApiObject& object, int indent) {
  return {.api_version = "v1", .kind = object.kind, .sorted = true, .indent = indent};
}

std::string Json(const ApiObject& object) {
  return Trimmed(kube::ToJson(object.message, OptionsOf(object, 4)));
}

std::string Yaml(const ApiObject& object) {
  return Trimmed(kube::ToYaml(object.message, OptionsOf(object, 0)));
}

}  // namespace

std::string ObjectJson(const ApiObject& object) { return Json(object) + "\n"; }

std::string ObjectYaml(const ApiObject& object) { return Yaml(object) + "\n"; }

std::string ListJson(const std::vector<ApiObject>& objects) {
  std::string items;
  for (const ApiObject& object : objects) {
    if (!items.empty()) items += ",\n";
    items += operate::Indented(Json(object), 8);
  }
  const std::string list = items.empty() ? "[]" : "[\n" + items + "\n    ]";
  return "{\n    \"apiVersion\": \"v1\",\n    \"items\": " + list +
         ",\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    "
         "}\n}\n";
}

std::string ListYaml(const std::vector<ApiObject>& objects) {
  std::string items;
  for (const ApiObject& object : objects) {
    std::string text = operate::Indented(Yaml(object), 2);
    text[0] = '-';
    items += text + "\n";
  }
  return "apiVersion: v1\nitems:" + (items.empty() ? std::string(" []\n") : "\n" + items) +
         "kind: List\nmetadata:\n  resourceVersion: \"\"\n";
}

}  // namespace splitlet::ctl
