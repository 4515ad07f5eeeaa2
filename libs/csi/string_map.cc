#include "libs/csi/string_map.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include "libs/base/text.h"
#include "libs/kube/json_text.h"

namespace splitlet::csi {
namespace {

constexpr size_t kMaxMapBytes = 64 << 10;
constexpr unsigned kParseFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

StatusOr<std::string> TextOf(const rapidjson::Value& value, std::string_view what) {
  if (value.IsNull()) return std::string();
  if (!value.IsString()) return InvalidArgument("{} is no string", what);
  std::string text(value.GetString(), value.GetStringLength());
  if (!IsText(text)) return InvalidArgument("{} is not UTF-8 without NUL", what);
  return text;
}

}  // namespace

std::string WriteStringMap(const StringMap& map) {
  std::string out = "{";
  for (const auto& [key, value] : map) {
    if (out.size() > 1) out += ',';
    kube::AppendJsonString(out, key);
    out += ':';
    kube::AppendJsonString(out, value);
  }
  return out + "}";
}

StatusOr<StringMap> ParseStringMap(std::string_view json) {
  if (json.size() > kMaxMapBytes)
    return InvalidArgument("{} bytes, at most {}", json.size(), kMaxMapBytes);
  rapidjson::Document document;
  document.Parse<kParseFlags>(json.data(), json.size());
  if (document.HasParseError())
    return InvalidArgument("{} at byte {}", rapidjson::GetParseError_En(document.GetParseError()),
                           document.GetErrorOffset());
  StringMap map;
  const rapidjson::Value& object = document;
  if (object.IsNull()) return map;
  if (!object.IsObject()) return InvalidArgument("no JSON object");
  for (const auto& member : object.GetObject()) {
    ASSIGN_OR_RETURN(std::string key, TextOf(member.name, "a key"), "key");
    ASSIGN_OR_RETURN(map[key], TextOf(member.value, "the value"), "{}", key);
  }
  return map;
}

}  // namespace splitlet::csi
