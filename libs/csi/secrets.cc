#include "libs/csi/secrets.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "libs/csi/requests.h"

namespace splitlet::csi {
namespace {

using google::protobuf::FieldDescriptor;
using Wire = google::protobuf::Message;

constexpr const char* kStripped = "***stripped***";
constexpr size_t kShortSecret = 4;

bool IsSecret(const FieldDescriptor& map, const std::string& key) {
  return map.name() == "secrets" || (map.name() == "volume_context" && key == kTokensKey);
}

/// Calls `visit` with key and value field of each secret entry of the message's maps.
template <class Visit>
void ForEachSecret(Wire& message, Visit visit) {
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (!field->is_map()) continue;
    const auto* entry_type = field->message_type();
    for (int n = 0; n < reflection->FieldSize(message, field); ++n) {
      Wire* entry = reflection->MutableRepeatedMessage(&message, field, n);
      const auto* of_entry = entry->GetReflection();
      const std::string key = of_entry->GetString(*entry, entry_type->map_key());
      if (IsSecret(*field, key)) visit(*entry, *entry_type->map_value());
    }
  }
}

void AddTokens(const std::string& json, std::vector<std::string>& secrets) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject()) return;
  const rapidjson::Value& audiences = document;
  for (const auto& audience : audiences.GetObject()) {
    if (!audience.value.IsObject()) continue;
    const auto token = audience.value.FindMember("token");
    if (token != audience.value.MemberEnd() && token->value.IsString())
      secrets.emplace_back(token->value.GetString(), token->value.GetStringLength());
  }
}

bool IsWordPart(const std::string& text, size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

void Strip(std::string& text, const std::string& secret) {
  const std::string stripped = kStripped;
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    const bool inside =
        (at > 0 && IsWordPart(text, at - 1)) || IsWordPart(text, at + secret.size());
    if (secret.size() < kShortSecret && inside) {
      ++at;
      continue;
    }
    text.replace(at, secret.size(), stripped);
    at += stripped.size();
  }
}

}  // namespace

std::vector<std::string> SecretsIn(const Wire& request) {
  const std::unique_ptr<Wire> copy(request.New());
  copy->CopyFrom(request);
  std::vector<std::string> secrets;
  ForEachSecret(*copy, [&](const Wire& entry, const FieldDescriptor& value) {
    const std::string secret = entry.GetReflection()->GetString(entry, &value);
    if (!secret.empty()) secrets.push_back(secret);
    AddTokens(secret, secrets);
  });
  return secrets;
}

std::string WithoutSecrets(std::string text, const std::vector<std::string>& secrets) {
  // The longest first: a secret may be a part of another.
  std::vector<std::string> ordered = secrets;
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const auto& secret : ordered)
    if (!secret.empty()) Strip(text, secret);
  return text;
}

std::string RequestText(const Wire& request) {
  const std::unique_ptr<Wire> copy(request.New());
  copy->CopyFrom(request);
  ForEachSecret(*copy, [](Wire& entry, const FieldDescriptor& value) {
    entry.GetReflection()->SetString(&entry, &value, kStripped);
  });
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(*copy, &text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace splitlet::csi
