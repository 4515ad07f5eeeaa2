#include "libs/kube/message_builder.h"

#include <google/protobuf/descriptor.h>

#include <charconv>
#include <cmath>

#include "libs/base/text.h"
#include "libs/kube/json_text.h"
#include "libs/kube/quantity.h"
#include "libs/kube/time_text.h"

namespace splitlet::kube {
namespace {

constexpr size_t kMaxWarnings = 100;
// One invalid string makes a whole message unreadable, also for the runtime that echoes it.
constexpr const char* kNoText = "has invalid UTF-8, a lone surrogate or NUL";

/// Quotes the value as the document spells it, so that a reader can search for it.
std::string BothTexts(const Scalar& scalar) {
  const std::string text(scalar.text.substr(0, 40));
  if (scalar.written.empty() || scalar.written == scalar.text) return text;
  return fmt::format("{} (written {})", text, ToText(scalar.written, 40));
}

std::string Describe(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::kNull: return "null";
    case Scalar::Kind::kBool: return fmt::format("the boolean {}", BothTexts(scalar));
    case Scalar::Kind::kNumber: return fmt::format("the number {}", BothTexts(scalar));
    case Scalar::Kind::kString: return fmt::format("\"{}\"", ToText(scalar.text, 40));
  }
  UNREACHABLE();
}

/// A whole number, which may be written like 1.0 or 1e3.
template <class Int>
bool ParseWhole(std::string_view text, Int& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end) return true;
  if (text.find_first_of(".eE") == std::string_view::npos) return false;
  double real = 0;
  const auto [real_stop, real_error] = std::from_chars(text.data(), end, real);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (real_error != std::errc() || real_stop != end || std::abs(real) > kExact) return false;
  const auto whole = static_cast<int64_t>(real);
  value = static_cast<Int>(whole);
  return static_cast<double>(whole) == real && static_cast<int64_t>(value) == whole;
}

/// Raw bytes, the only field of the types that hold them.
void SetRaw(google::protobuf::Message& message, std::string value) {
  const auto& type = TypeInfoOf(*message.GetDescriptor());
  type.reflection->SetString(&message, type.parts[0], std::move(value));
}

}  // namespace

MessageBuilder::MessageBuilder(Message& message, Strictness strictness)
    : root_(message), strictness_(strictness) {}

bool MessageBuilder::Fail(size_t position, std::string reason) {
  if (!error_) error_ = Found{Path(), std::move(reason), position};
  return false;
}

bool MessageBuilder::Warn(size_t position, std::string path, std::string reason) {
  if (strictness_ == Strictness::kStrict) {
    if (!error_) error_ = Found{std::move(path), std::move(reason), position};
    return false;
  }
  if (warnings_.size() < kMaxWarnings)
    warnings_.push_back({std::move(path), std::move(reason), position});
  return true;
}

std::string MessageBuilder::Path() const {
  std::string path;
  for (const Frame& frame : frames_) {
    if (frame.kind == Frame::Kind::kObject && frame.field != nullptr) {
      if (!path.empty()) path += '.';
      path += frame.field->json_name;
    } else if (frame.kind == Frame::Kind::kMap && !frame.key.empty()) {
      path.append("[").append(frame.key).append("]");
    } else if (frame.kind == Frame::Kind::kList && frame.item > 0) {
      path += fmt::format("[{}]", frame.item - 1);
    }
  }
  return path;
}

bool MessageBuilder::Skipping() const {
  if (skipped_ > 0) return true;
  return !frames_.empty() && frames_.back().kind == Frame::Kind::kObject &&
         frames_.back().field == nullptr;
}

google::protobuf::Message& MessageBuilder::NewMapEntry(Frame& frame) {
  const auto* reflection = frame.field->reflection;
  const FieldDescriptor* field = frame.field->field;
  const auto [at, added] =
      frame.entries.try_emplace(frame.key, reflection->FieldSize(*frame.message, field));
  Message* entry = added ? reflection->AddMessage(frame.message, field)
                         : reflection->MutableRepeatedMessage(frame.message, field, at->second);
  if (!added) entry->Clear();  // of duplicate keys the last one counts
  entry->GetReflection()->SetString(entry, field->message_type()->map_key(), frame.key);
  return *entry;
}

MessageBuilder::Target MessageBuilder::NextTarget() {
  Frame& frame = frames_.back();
  if (frame.kind == Frame::Kind::kMap) {
    Message& entry = NewMapEntry(frame);
    const auto* value = frame.field->field->message_type()->map_value();
    return {&entry, entry.GetReflection(), value, frame.field->type, false};
  }
  if (frame.kind == Frame::Kind::kList) {
    ++frame.item;
    if (frame.plain != nullptr)
      return {frame.message, frame.message->GetReflection(), frame.plain, nullptr, true};
    return {frame.message, frame.field->reflection, frame.field->field, frame.field->type, true};
  }
  return {&HolderOf(*frame.message, *frame.field), frame.field->reflection, frame.field->field,
          frame.field->type, false};
}

bool MessageBuilder::OnScalar(const Scalar& scalar, size_t position) {
  if (scalar.kind == Scalar::Kind::kString && !IsText(scalar.text)) return Fail(position, kNoText);
  if (raw_depth_ > 0) {
    RawScalar(scalar);
    return true;
  }
  if (Skipping()) return true;
  if (frames_.empty())
    return Fail(position, fmt::format("expected an object, found {}", Describe(scalar)));
  const bool null = scalar.kind == Scalar::Kind::kNull;
  Frame& frame = frames_.back();
  if (frame.kind == Frame::Kind::kObject) {
    if (null) return true;
    if (frame.field->is_list || frame.field->is_map)
      return Fail(position,
                  fmt::format("expected {}, found {}", frame.field->is_list ? "a list" : "a map",
                              Describe(scalar)));
  }
  const Target target = NextTarget();
  if (target.type != nullptr) {
    const auto* reflection = target.reflection;
    Message* value = target.add ? reflection->AddMessage(target.message, target.field)
                                : reflection->MutableMessage(target.message, target.field);
    return null || SetFormed(*value, *target.type, scalar, position);
  }
  if (!null) return SetScalar(target, scalar, position);
  // In a list null means the empty value; an entry of a map is empty already.
  if (target.add && target.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    target.reflection->AddString(target.message, target.field, "");
  return true;
}

bool MessageBuilder::SetScalar(const Target& target, const Scalar& scalar, size_t position) {
  const auto* reflection = target.reflection;
  const auto type = target.field->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_BOOL) {
    if (scalar.kind != Scalar::Kind::kBool)
      return Fail(position, fmt::format("expected true or false, found {}", Describe(scalar)));
    const bool value = scalar.text == "true";
    target.add ? reflection->AddBool(target.message, target.field, value)
               : reflection->SetBool(target.message, target.field, value);
    return true;
  }
  if (type != FieldDescriptor::CPPTYPE_STRING) return SetNumber(target, scalar, position);
  if (scalar.kind != Scalar::Kind::kString)
    return Fail(position, fmt::format("expected a string, found {}; quote it", Describe(scalar)));
  std::string value(scalar.text);
  if (target.field->type() == FieldDescriptor::TYPE_BYTES) {
    auto bytes = DecodeBase64(scalar.text);
    if (!bytes.ok()) return Fail(position, splitlet::Message(bytes.status()));
    value = std::move(bytes).value();
  }
  target.add ? reflection->AddString(target.message, target.field, std::move(value))
             : reflection->SetString(target.message, target.field, std::move(value));
  return true;
}

bool MessageBuilder::SetNumber(const Target& target, const Scalar& scalar, size_t position) {
  if (scalar.kind != Scalar::Kind::kNumber)
    return Fail(position, fmt::format("expected a number, found {}", Describe(scalar)));
  const auto* reflection = target.reflection;
  const auto type = target.field->cpp_type();
  const auto bad = [&](std::string_view what) {
    return Fail(position, fmt::format("{} is not {}", BothTexts(scalar), what));
  };
  if (type == FieldDescriptor::CPPTYPE_INT32) {
    int32_t value = 0;
    if (!ParseWhole(scalar.text, value)) return bad("a whole number of 32 bits");
    target.add ? reflection->AddInt32(target.message, target.field, value)
               : reflection->SetInt32(target.message, target.field, value);
    return true;
  }
  if (type == FieldDescriptor::CPPTYPE_INT64) {
    int64_t value = 0;
    if (!ParseWhole(scalar.text, value)) return bad("a whole number of 64 bits");
    target.add ? reflection->AddInt64(target.message, target.field, value)
               : reflection->SetInt64(target.message, target.field, value);
    return true;
  }
  if (type == FieldDescriptor::CPPTYPE_DOUBLE) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(scalar.text.data(), scalar.text.data() + scalar.text.size(), value);
    if (error != std::errc() || end != scalar.text.data() + scalar.text.size())
      return bad("a number in range");
    target.add ? reflection->AddDouble(target.message, target.field, value)
               : reflection->SetDouble(target.message, target.field, value);
    return true;
  }
  return Fail(position, "a field of a type that has no JSON form here");
}

bool MessageBuilder::SetFormed(Message& message, const TypeInfo& type, const Scalar& scalar,
                               size_t position) {
  const bool text = scalar.kind == Scalar::Kind::kString;
  const bool number = scalar.kind == Scalar::Kind::kNumber;
  const auto wrong = [&](std::string_view want) {
    return Fail(position, fmt::format("expected {}, found {}", want, Describe(scalar)));
  };
  switch (type.form) {
    case Form::kObject: return wrong("an object");
    case Form::kStringList: return wrong("a list");
    case Form::kRaw: {
      raw_.clear();
      raw_first_ = true;
      RawScalar(scalar);
      type.reflection->SetString(&message, type.parts[0], std::move(raw_));
      return true;
    }
    case Form::kQuantity: {
      if (!text && !number) return wrong("a quantity");
      if (Quantity::IsSurelyCanonical(scalar.text)) {
        type.reflection->SetString(&message, type.parts[0], std::string(scalar.text));
        return true;
      }
      const auto quantity = Quantity::Parse(scalar.text);
      if (!quantity.ok()) return Fail(position, splitlet::Message(quantity.status()));
      type.reflection->SetString(&message, type.parts[0], quantity->ToString());
      return true;
    }
    case Form::kTime:
    case Form::kMicroTime: {
      if (!text) return wrong("a time");
      const auto time = ParseTime(scalar.text);
      if (!time.ok()) return Fail(position, splitlet::Message(time.status()));
      type.reflection->SetInt64(&message, type.parts[0], time->seconds);
      type.reflection->SetInt32(&message, type.parts[1],
                                type.form == Form::kTime ? 0 : time->nanos);
      return true;
    }
    case Form::kDuration: {
      if (!text) return wrong("a duration");
      const auto duration = ParseDuration(scalar.text);
      if (!duration.ok()) return Fail(position, splitlet::Message(duration.status()));
      type.reflection->SetInt64(&message, type.parts[0], *duration);
      return true;
    }
    case Form::kIntOrString: {
      if (!text && !number) return wrong("a number or a string");
      type.reflection->SetInt64(&message, type.parts[0], text ? 1 : 0);
      if (text) {
        type.reflection->SetString(&message, type.parts[2], std::string(scalar.text));
        return true;
      }
      int32_t value = 0;
      if (!ParseWhole(scalar.text, value)) return wrong("a whole number of 32 bits");
      type.reflection->SetInt32(&message, type.parts[1], value);
      return true;
    }
  }
  UNREACHABLE();
}

bool MessageBuilder::OnBeginMap(size_t position) {
  if (raw_depth_ > 0) {
    RawOpen(false);
    return true;
  }
  if (!frames_.empty()) return OpenValue(false, position);
  const TypeInfo& type = TypeInfoOf(*root_.GetDescriptor());
  Push({.message = &root_, .type = &type, .allows_type_meta = true});
  return true;
}

bool MessageBuilder::OnBeginList(size_t position) {
  if (raw_depth_ > 0) {
    RawOpen(true);
    return true;
  }
  if (!frames_.empty()) return OpenValue(true, position);
  return Fail(position, "expected an object, found a list");
}

bool MessageBuilder::OpenValue(bool list, size_t position) {
  if (Skipping()) {
    ++skipped_;
    return true;
  }
  Frame& frame = frames_.back();
  if (frame.kind == Frame::Kind::kObject && (frame.field->is_list || frame.field->is_map))
    return OpenContainer(*frame.field, HolderOf(*frame.message, *frame.field), list, position);
  const Target target = NextTarget();
  if (target.type == nullptr)
    return Fail(position,
                fmt::format("expected a plain value, found {}", list ? "a list" : "a map"));
  return OpenMessage(target, list, position);
}

bool MessageBuilder::OpenContainer(const FieldInfo& field, Message& holder, bool list,
                                   size_t position) {
  if (field.is_list != list)
    return Fail(position, fmt::format("expected {}, found {}", field.is_list ? "a list" : "a map",
                                      list ? "a list" : "a map"));
  // As in Kubernetes, a second list of the same name replaces the first, and a second map is merged
  // into it.
  if (list) field.reflection->ClearField(&holder, field.field);
  const bool items = frames_.size() == 1 && field.json_name == "items";
  Push({.kind = list ? Frame::Kind::kList : Frame::Kind::kMap,
        .message = &holder,
        .field = &field,
        .allows_type_meta = items});
  if (list) return true;
  for (int i = 0; i < field.reflection->FieldSize(holder, field.field); ++i) {
    const Message& entry = field.reflection->GetRepeatedMessage(holder, field.field, i);
    frames_.back()
        .entries[entry.GetReflection()->GetString(entry, field.field->message_type()->map_key())] =
        i;
  }
  return true;
}

bool MessageBuilder::OpenMessage(const Target& target, bool list, size_t position) {
  const Form form = target.type->form;
  if (form != Form::kRaw && (form == Form::kStringList) != list)
    return Fail(position, fmt::format("expected {}, found {}",
                                      form == Form::kObject       ? "an object"
                                      : form == Form::kStringList ? "a list"
                                                                  : "a plain value",
                                      list ? "a list" : "a map"));
  if (form != Form::kRaw && form != Form::kObject && form != Form::kStringList)
    return Fail(position, "expected a plain value, found a map");
  const bool type_meta =
      frames_.back().kind == Frame::Kind::kList && frames_.back().allows_type_meta;
  const auto* reflection = target.reflection;
  Message* value = target.add ? reflection->AddMessage(target.message, target.field)
                              : reflection->MutableMessage(target.message, target.field);
  if (form == Form::kRaw) {
    raw_.clear();
    raw_first_ = true;
    raw_message_ = value;
    RawOpen(list);
    return true;
  }
  if (form == Form::kStringList) {
    Push({.kind = Frame::Kind::kList,
          .message = value,
          .plain = value->GetDescriptor()->FindFieldByNumber(1)});
    return true;
  }
  Push({.message = value, .type = target.type, .allows_type_meta = type_meta});
  return true;
}

bool MessageBuilder::OnKey(std::string_view key, size_t position) {
  if (!IsText(key)) {
    if (!frames_.empty()) frames_.back().key.clear();
    return Fail(position, fmt::format("the key \"{}\" {}", ToText(key, 100), kNoText));
  }
  if (raw_depth_ > 0) {
    RawSeparate();
    AppendJsonString(raw_, key);
    raw_ += ':';
    raw_first_ = true;
    return true;
  }
  if (skipped_ > 0) return true;
  Frame& frame = frames_.back();
  if (frame.kind == Frame::Kind::kObject) return OnObjectKey(frame, key, position);
  frame.key = key;
  if (!frame.entries.contains(frame.key)) return true;
  return Warn(position, Path(), "given twice");
}

bool MessageBuilder::OnObjectKey(Frame& frame, std::string_view key, size_t position) {
  const auto it = frame.type->lookup.find(key);
  if (it != frame.type->lookup.end()) {
    frame.field = it->second;
    if (!frame.seen[frame.field->index]) {
      frame.seen[frame.field->index] = true;
      return true;
    }
    return Warn(position, Path(), "given twice");
  }
  frame.field = nullptr;
  if (frame.allows_type_meta && (key == "apiVersion" || key == "kind")) return true;
  std::string path = Path();
  path.append(path.empty() ? "" : ".").append(ToText(key, 100));
  return Warn(position, std::move(path), "unknown field");
}

bool MessageBuilder::OnEndMap() {
  if (raw_depth_ > 0) return RawClose(false);
  if (skipped_ > 0) {
    --skipped_;
    return true;
  }
  frames_.pop_back();
  return true;
}

bool MessageBuilder::OnEndList() {
  if (raw_depth_ > 0) return RawClose(true);
  if (skipped_ > 0) {
    --skipped_;
    return true;
  }
  frames_.pop_back();
  return true;
}

void MessageBuilder::RawSeparate() {
  if (!raw_first_) raw_ += ',';
  raw_first_ = false;
}

void MessageBuilder::RawScalar(const Scalar& scalar) {
  RawSeparate();
  if (scalar.kind == Scalar::Kind::kString) {
    AppendJsonString(raw_, scalar.text);
  } else {
    raw_ += scalar.kind == Scalar::Kind::kNull ? "null" : scalar.text;
  }
}

void MessageBuilder::RawOpen(bool list) {
  RawSeparate();
  raw_ += list ? '[' : '{';
  raw_first_ = true;
  ++raw_depth_;
}

bool MessageBuilder::RawClose(bool list) {
  raw_ += list ? ']' : '}';
  raw_first_ = false;
  if (--raw_depth_ == 0) SetRaw(*raw_message_, std::move(raw_));
  return true;
}

}  // namespace splitlet::kube
