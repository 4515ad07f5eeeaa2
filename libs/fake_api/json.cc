#include "libs/fake_api/json.h"

#include "libs/kube/text_writer.h"
#include "libs/kube/tokens.h"
#include "libs/kube/yaml_tokens.h"

namespace splitlet::fake_api {
namespace {

class Builder final : public kube::TokenSink {
 public:
  explicit Builder(Json& root) : root_(root) {}

  bool OnScalar(const kube::Scalar& scalar, size_t) override {
    using Kind = kube::Scalar::Kind;
    Json value;
    value.kind = scalar.kind == Kind::kNull     ? Json::Kind::kNull
                 : scalar.kind == Kind::kString ? Json::Kind::kString
                                                : Json::Kind::kPlain;
    value.text = scalar.text;
    Add(std::move(value));
    return true;
  }
  bool OnBeginMap(size_t) override { return open_.push_back(&Add(Json::Map())), true; }
  bool OnKey(std::string_view key, size_t) override { return key_ = key, true; }
  bool OnEndMap() override { return open_.pop_back(), true; }
  bool OnBeginList(size_t) override { return open_.push_back(&Add(Json::List())), true; }
  bool OnEndList() override { return open_.pop_back(), true; }

 private:
  /// Only the innermost container grows, so pointers to open containers stay valid.
  Json& Add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& holder = *open_.back();
    if (holder.is_map()) return holder.members[key_] = std::move(value);
    return holder.items.emplace_back(std::move(value));
  }

  Json& root_;
  std::vector<Json*> open_;
  std::string key_;
};

void Write(const Json& json, kube::JsonWriter& writer) {
  switch (json.kind) {
    case Json::Kind::kNull: writer.Plain("null"); return;
    case Json::Kind::kPlain: writer.Plain(json.text); return;
    case Json::Kind::kString: writer.String(json.text); return;
    case Json::Kind::kMap:
      writer.BeginMap();
      for (const auto& [key, value] : json.members) {
        writer.Key(key);
        Write(value, writer);
      }
      writer.EndMap();
      return;
    case Json::Kind::kList:
      writer.BeginList();
      for (const auto& item : json.items) Write(item, writer);
      writer.EndList();
      return;
  }
  UNREACHABLE();
}

}  // namespace

Json* Json::Find(const std::string& key) {
  const auto it = members.find(key);
  return it == members.end() ? nullptr : &it->second;
}

const Json* Json::Find(const std::string& key) const {
  const auto it = members.find(key);
  return it == members.end() ? nullptr : &it->second;
}

std::string Json::TextOf(const std::string& key) const {
  const Json* member = Find(key);
  return member == nullptr ? std::string() : member->text;
}

bool operator==(const Json& a, const Json& b) {
  return a.kind == b.kind && a.text == b.text && a.members == b.members && a.items == b.items;
}

StatusOr<Json> ParseJson(std::string_view text) {
  ASSIGN_OR_RETURN(const auto source, kube::OpenTokens(text), "read JSON");
  Json root;
  Builder builder(root);
  RETURN_IF_ERROR(source->Replay(builder), "read JSON");
  return root;
}

std::string WriteJson(const Json& json) {
  kube::JsonWriter writer(0);
  Write(json, writer);
  return writer.Take();
}

}  // namespace splitlet::fake_api
