#include "libs/dbus/value.h"

namespace splitlet::dbus {

namespace {

struct Signature {
  std::string operator()(uint8_t) const { return "y"; }
  std::string operator()(bool) const { return "b"; }
  std::string operator()(int32_t) const { return "i"; }
  std::string operator()(uint32_t) const { return "u"; }
  std::string operator()(int64_t) const { return "x"; }
  std::string operator()(uint64_t) const { return "t"; }
  std::string operator()(double) const { return "d"; }
  std::string operator()(const std::string&) const { return "s"; }
  std::string operator()(const ObjectPath&) const { return "o"; }
  std::string operator()(const Handle&) const { return "h"; }
  std::string operator()(const AnyValue&) const { return "v"; }
  std::string operator()(const Fields& fields) const {
    return "(" + SignatureOf(fields.values) + ")";
  }
  std::string operator()(const Items& items) const { return "a" + items.element; }
};

}  // namespace

bool AnyValue::operator==(const AnyValue& other) const {
  if (value == nullptr || other.value == nullptr) return value == other.value;
  return *value == *other.value;
}

bool Fields::operator==(const Fields&) const = default;
bool Items::operator==(const Items&) const = default;

Value Variant(Value value) {
  return Value(AnyValue{std::make_shared<const Value>(std::move(value))});
}

Value Struct(Values fields) { return Value(Fields{std::move(fields)}); }

Value Array(std::string element, Values items) {
  return Value(Items{std::move(element), std::move(items)});
}

Value Strings(const std::vector<std::string>& items) {
  return Array("s", Values(items.begin(), items.end()));
}

std::string SignatureOf(const Value& value) { return std::visit(Signature{}, value.held); }

std::string SignatureOf(const Values& values) {
  std::string all;
  for (const Value& value : values) all += SignatureOf(value);
  return all;
}

StatusOr<Value> ValueAt(const Values& values, size_t index) {
  if (index >= values.size())
    return InvalidArgument("there are {} values, not {}", values.size(), index + 1);
  const Value* value = &values[index];
  while (const AnyValue* any = std::get_if<AnyValue>(&value->held)) {
    if (any->value == nullptr) return InvalidArgument("value {} is a variant of nothing", index);
    value = any->value.get();
  }
  return *value;
}

}  // namespace splitlet::dbus
