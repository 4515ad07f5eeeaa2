#include "libs/kube/encode.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include "libs/kube/codec.h"
#include "libs/kube/json_text.h"
#include "libs/kube/json_tokens.h"
#include "libs/kube/text_writer.h"
#include "libs/kube/time_text.h"
#include "libs/kube/tokens.h"
#include "libs/kube/type_info.h"

namespace splitlet::kube {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Writes JSON that a message holds as bytes, in the style of the surrounding text.
class Rewriter final : public TokenSink {
 public:
  explicit Rewriter(TextWriter& writer) : writer_(writer) {}
  bool OnScalar(const Scalar& scalar, size_t) override {
    if (scalar.kind == Scalar::Kind::kString) {
      writer_.String(scalar.text);
    } else {
      writer_.Plain(scalar.kind == Scalar::Kind::kNull ? "null" : scalar.text);
    }
    return true;
  }
  bool OnBeginMap(size_t) override { return writer_.BeginMap(), true; }
  bool OnKey(std::string_view key, size_t) override { return writer_.Key(key), true; }
  bool OnEndMap() override { return writer_.EndMap(), true; }
  bool OnBeginList(size_t) override { return writer_.BeginList(), true; }
  bool OnEndList() override { return writer_.EndList(), true; }

 private:
  TextWriter& writer_;
};

/// Checks first that the bytes are JSON, so that no output is half written.
class Ignore final : public TokenSink {
 public:
  bool OnScalar(const Scalar&, size_t) override { return true; }
  bool OnBeginMap(size_t) override { return true; }
  bool OnKey(std::string_view, size_t) override { return true; }
  bool OnEndMap() override { return true; }
  bool OnBeginList(size_t) override { return true; }
  bool OnEndList() override { return true; }
};

class Encoder {
 public:
  Encoder(TextWriter& writer, bool sorted) : writer_(writer), sorted_(sorted) {}

  void Root(const Message& message, const EncodeOptions& options) {
    writer_.BeginMap();
    if (!options.api_version.empty()) {
      writer_.Key("apiVersion");
      writer_.String(options.api_version);
    }
    if (!options.kind.empty()) {
      writer_.Key("kind");
      writer_.String(options.kind);
    }
    Fields(message, TypeInfoOf(*message.GetDescriptor()));
    writer_.EndMap();
  }

 private:
  void Fields(const Message& message, const TypeInfo& type) {
    for (size_t i = 0; i < type.fields.size(); ++i)
      Field(message, type.fields[sorted_ ? type.by_name[i] : i]);
  }

  void Field(const Message& message, const FieldInfo& field) {
    const Message* holder = FindHolder(message, field);
    if (holder == nullptr) return;
    const auto* reflection = field.reflection;
    if (field.field->is_repeated()) {
      if (reflection->FieldSize(*holder, field.field) == 0) return;
      writer_.Key(field.json_name);
      field.is_map ? Map(*holder, field) : List(*holder, *reflection, *field.field, field.type);
      return;
    }
    if (!reflection->HasField(*holder, field.field)) return;
    writer_.Key(field.json_name);
    if (field.type != nullptr) {
      Value(reflection->GetMessage(*holder, field.field), *field.type);
    } else {
      Plain(*holder, *reflection, *field.field);
    }
  }

  void List(const Message& holder, const Reflection& reflection, const FieldDescriptor& field,
            const TypeInfo* type) {
    writer_.BeginList();
    for (int i = 0; i < reflection.FieldSize(holder, &field); ++i) {
      if (type != nullptr) {
        Value(reflection.GetRepeatedMessage(holder, &field, i), *type);
      } else {
        PlainItem(holder, reflection, field, i);
      }
    }
    writer_.EndList();
  }

  void Map(const Message& holder, const FieldInfo& field) {
    const auto* reflection = field.reflection;
    const auto* entry_reflection =
        reflection->GetRepeatedMessage(holder, field.field, 0).GetReflection();
    const auto* key = field.field->message_type()->map_key();
    const auto* value = field.field->message_type()->map_value();
    std::vector<std::pair<std::string, const Message*>> entries;
    for (int i = 0; i < reflection->FieldSize(holder, field.field); ++i) {
      const Message& entry = reflection->GetRepeatedMessage(holder, field.field, i);
      entries.emplace_back(entry_reflection->GetString(entry, key), &entry);
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    writer_.BeginMap();
    for (const auto& [name, entry] : entries) {
      writer_.Key(name);
      if (field.type != nullptr) {
        Value(entry_reflection->GetMessage(*entry, value), *field.type);
      } else {
        Plain(*entry, *entry_reflection, *value);
      }
    }
    writer_.EndMap();
  }

  void Value(const Message& message, const TypeInfo& type) {
    switch (type.form) {
      case Form::kObject:
        writer_.BeginMap();
        Fields(message, type);
        writer_.EndMap();
        return;
      case Form::kQuantity: {
        const std::string text = Text(message, type, 1);
        writer_.String(text.empty() ? "0" : text);
        return;
      }
      case Form::kTime:
      case Form::kMicroTime:
        writer_.String(
            FormatTime({Number(message, type, 1), static_cast<int32_t>(Number(message, type, 2))},
                       type.form == Form::kTime ? 0 : 6));
        return;
      case Form::kDuration: writer_.String(FormatDuration(Number(message, type, 1))); return;
      case Form::kIntOrString:
        if (Number(message, type, 1) == 1) {
          writer_.String(Text(message, type, 3));
        } else {
          writer_.Plain(std::to_string(Number(message, type, 2)));
        }
        return;
      case Form::kRaw: Raw(Text(message, type, 1)); return;
      case Form::kStringList: List(message, *type.reflection, *type.parts[0], nullptr); return;
    }
    UNREACHABLE();
  }

  void Raw(const std::string& json) {
    Ignore ignore;
    const auto source = OpenJson(json);
    if (!source->Replay(ignore).ok()) {
      writer_.Plain("null");
      return;
    }
    Rewriter rewriter(writer_);
    CHECK(source->Replay(rewriter).ok());
  }

  static int64_t Number(const Message& message, const TypeInfo& type, size_t number) {
    const auto* field = type.parts[number - 1];
    return field->cpp_type() == FieldDescriptor::CPPTYPE_INT32
               ? type.reflection->GetInt32(message, field)
               : type.reflection->GetInt64(message, field);
  }
  static std::string Text(const Message& message, const TypeInfo& type, size_t number) {
    return type.reflection->GetString(message, type.parts[number - 1]);
  }

  void Plain(const Message& holder, const Reflection& reflection, const FieldDescriptor& field) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      std::string scratch;
      Text(field, reflection.GetStringReference(holder, &field, &scratch));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      writer_.Plain(reflection.GetBool(holder, &field) ? "true" : "false");
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      writer_.Plain(fmt::format("{}", reflection.GetDouble(holder, &field)));
    } else {
      writer_.Plain(std::to_string(field.cpp_type() == FieldDescriptor::CPPTYPE_INT32
                                       ? reflection.GetInt32(holder, &field)
                                       : reflection.GetInt64(holder, &field)));
    }
  }

  void PlainItem(const Message& holder, const Reflection& reflection, const FieldDescriptor& field,
                 int i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      std::string scratch;
      Text(field, reflection.GetRepeatedStringReference(holder, &field, i, &scratch));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      writer_.Plain(reflection.GetRepeatedBool(holder, &field, i) ? "true" : "false");
    } else {
      writer_.Plain(std::to_string(field.cpp_type() == FieldDescriptor::CPPTYPE_INT32
                                       ? reflection.GetRepeatedInt32(holder, &field, i)
                                       : reflection.GetRepeatedInt64(holder, &field, i)));
    }
  }

  void Text(const FieldDescriptor& field, const std::string& value) {
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      writer_.String(EncodeBase64(value));
    } else {
      writer_.String(value);
    }
  }

  TextWriter& writer_;
  bool sorted_;
};

}  // namespace

std::string ToJson(const Message& message, const EncodeOptions& options) {
  JsonWriter writer(options.indent);
  Encoder(writer, options.sorted).Root(message, options);
  return writer.Take();
}

std::string ToYaml(const Message& message, const EncodeOptions& options) {
  YamlWriter writer;
  Encoder(writer, options.sorted).Root(message, options);
  return writer.Take();
}

}  // namespace splitlet::kube
