#pragma once

/// Values of a D-Bus message, with their types on the wire.
///   {Value("foo.slice"), Value(uint32_t{15}), Variant(true)}
///   Array("(sv)", {Struct({"Slice", Variant("a.slice")})})
/// Threads: values, any.
/// Errors:  INVALID_ARGUMENT: the value has another type than the getter; names both.
/// Source:  sd-bus(3).

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::dbus {

struct Value;
using Values = std::vector<Value>;

struct ObjectPath {
  std::string path;
  bool operator==(const ObjectPath&) const = default;
};

/// A file descriptor that is closed with its last Value.
using Handle = std::shared_ptr<const fs::Fd>;

/// A value with its type on the wire.
struct AnyValue {
  std::shared_ptr<const Value> value;
  bool operator==(const AnyValue& other) const;
};

/// A structure, or an entry of a dictionary in an array of "{sv}".
struct Fields {
  Values values;
  bool operator==(const Fields&) const;
};

struct Items {
  std::string element;  // type of each element: "s", "(sv)", "{sv}"
  Values values;
  bool operator==(const Items&) const;
};

/// Supports the wire types y b i u x t d s o h v () a, without 16-bit integers and signatures.
struct Value {
  std::variant<uint8_t, bool, int32_t, uint32_t, int64_t, uint64_t, double, std::string, ObjectPath,
               Handle, AnyValue, Fields, Items>
      held;
  Value() : held(false) {}
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, Value> && !std::is_convertible_v<T, std::string_view>)
      Value(T&& of)
      : held(std::forward<T>(of)) {}  // NOLINT(google-explicit-constructor): a literal of it
  Value(std::string_view text)
      : held(std::string(text)) {}  // NOLINT(google-explicit-constructor): the same
  Value(const char* text)
      : held(std::string(text)) {}                // NOLINT(google-explicit-constructor): the same
  Value(const std::string& text) : held(text) {}  // NOLINT(google-explicit-constructor): the same
  bool operator==(const Value&) const = default;
};

Value Variant(Value value);
Value Struct(Values fields);
Value Array(std::string element, Values items);
Value Strings(const std::vector<std::string>& items);

/// "s", "a(sv)".
std::string SignatureOf(const Value& value);
std::string SignatureOf(const Values& values);

/// The value at `index`; unwraps an AnyValue.
template <class T>
StatusOr<T> Get(const Values& values, size_t index);
/// INVALID_ARGUMENT if the index is out of range.
StatusOr<Value> ValueAt(const Values& values, size_t index);

template <class T>
StatusOr<T> Get(const Values& values, size_t index) {
  auto value = ValueAt(values, index);
  if (!value.ok()) return value.status();
  if (const T* held = std::get_if<T>(&value->held)) return *held;
  return InvalidArgument("value {} has type {}, not {}", index, SignatureOf(*value),
                         SignatureOf(Value(T())));
}

}  // namespace splitlet::dbus
