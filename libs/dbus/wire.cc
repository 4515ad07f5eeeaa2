#include "libs/dbus/wire.h"

#include <fcntl.h>

#include <cerrno>

namespace splitlet::dbus {

namespace {

constexpr size_t kMaxValues = 100'000;

/// Converts the result of appending a value or opening a container.
Status Checked(int result, const char* what) {
  return result >= 0 ? OkStatus() : Annotate(SdError(result), what);
}

class Writer {
 public:
  Writer(const SdBus& sd, sd_bus_message* message) : sd_(sd), message_(message) {}

  Status Put(const Value& value) const {
    return std::visit([this](const auto& held) { return PutHeld(held); }, value.held);
  }

 private:
  Status Basic(char type, const void* value) const {
    return Checked(sd_.append_basic(message_, type, value), "append");
  }
  Status PutHeld(uint8_t held) const { return Basic(SD_BUS_TYPE_BYTE, &held); }
  Status PutHeld(bool held) const {
    const int wide = held ? 1 : 0;  // sd-bus reads a boolean as int
    return Basic(SD_BUS_TYPE_BOOLEAN, &wide);
  }
  Status PutHeld(int32_t held) const { return Basic(SD_BUS_TYPE_INT32, &held); }
  Status PutHeld(uint32_t held) const { return Basic(SD_BUS_TYPE_UINT32, &held); }
  Status PutHeld(int64_t held) const { return Basic(SD_BUS_TYPE_INT64, &held); }
  Status PutHeld(uint64_t held) const { return Basic(SD_BUS_TYPE_UINT64, &held); }
  Status PutHeld(double held) const { return Basic(SD_BUS_TYPE_DOUBLE, &held); }
  Status PutHeld(const std::string& held) const { return Basic(SD_BUS_TYPE_STRING, held.c_str()); }
  Status PutHeld(const ObjectPath& held) const {
    return Basic(SD_BUS_TYPE_OBJECT_PATH, held.path.c_str());
  }
  Status PutHeld(const Handle& held) const {
    if (held == nullptr) return InvalidArgument("a file descriptor of nothing");
    const int fd = held->get();
    return Basic(SD_BUS_TYPE_UNIX_FD, &fd);
  }
  Status PutHeld(const AnyValue& held) const {
    if (held.value == nullptr) return InvalidArgument("a variant of nothing");
    return PutContainer(SD_BUS_TYPE_VARIANT, SignatureOf(*held.value), {*held.value});
  }
  Status PutHeld(const Fields& held) const {
    return PutContainer(SD_BUS_TYPE_STRUCT, SignatureOf(held.values), held.values);
  }
  Status PutHeld(const Items& held) const {
    const bool entries = held.element.starts_with('{');
    if (!entries) {
      for (const Value& item : held.values)
        if (SignatureOf(item) != held.element)
          return InvalidArgument("a {} in an array of {}", SignatureOf(item), held.element);
      return PutContainer(SD_BUS_TYPE_ARRAY, held.element, held.values);
    }
    RETURN_IF_ERROR(
        Checked(sd_.open_container(message_, SD_BUS_TYPE_ARRAY, held.element.c_str()), "array"),
        "open");
    const std::string inside = held.element.substr(1, held.element.size() - 2);
    for (const Value& item : held.values) {
      const Fields* fields = std::get_if<Fields>(&item.held);
      if (fields == nullptr || SignatureOf(fields->values) != inside)
        return InvalidArgument("a {} in a dictionary of {}", SignatureOf(item), held.element);
      Status put = PutContainer(SD_BUS_TYPE_DICT_ENTRY, inside, fields->values);
      if (!put.ok()) return put;
    }
    return Checked(sd_.close_container(message_), "close array");
  }
  Status PutContainer(char type, const std::string& inside, const Values& values) const {
    RETURN_IF_ERROR(Checked(sd_.open_container(message_, type, inside.c_str()), "container"),
                    "open");
    for (const Value& value : values)
      if (Status put = Put(value); !put.ok()) return put;
    return Checked(sd_.close_container(message_), "close container");
  }

  const SdBus& sd_;
  sd_bus_message* const message_;
};

class Reader {
 public:
  Reader(const SdBus& sd, sd_bus_message* message) : sd_(sd), message_(message) {}

  /// Reads to the end of the current container or of the message.
  StatusOr<Values> All() {
    Values values;
    while (true) {
      char type = 0;
      const char* inside = nullptr;
      const int found = sd_.peek_type(message_, &type, &inside);
      if (found < 0) return Annotate(SdError(found), "read");
      if (found == 0) return values;
      if (++count_ > kMaxValues) return ResourceExhausted("more than {} values", kMaxValues);
      auto value = One(type, inside == nullptr ? "" : inside);
      if (!value.ok()) return value.status();
      values.push_back(std::move(*value));
    }
  }

 private:
  template <class Wire>
  StatusOr<Wire> Basic(char type) const {
    Wire wire{};
    const int read = sd_.read_basic(message_, type, &wire);
    if (read < 0) return Annotate(SdError(read), "read");
    return wire;
  }
  template <class Held, class Wire = Held>
  StatusOr<Value> Plain(char type) const {
    const auto wire = Basic<Wire>(type);
    if (!wire.ok()) return wire.status();
    return Value(Held(*wire));
  }
  StatusOr<Value> Descriptor() const {
    const auto wire = Basic<int>(SD_BUS_TYPE_UNIX_FD);  // the message closes its own descriptor
    if (!wire.ok()) return wire.status();
    fs::Fd copy(::fcntl(*wire, F_DUPFD_CLOEXEC, 3));
    if (!copy.ok()) return Annotate(ErrnoStatus(errno), "copy a file descriptor");
    return Value(Handle(std::make_shared<fs::Fd>(std::move(copy))));
  }
  StatusOr<Values> Inside(char type, const std::string& inside) {
    const int entered = sd_.enter_container(message_, type, inside.c_str());
    if (entered < 0) return Annotate(SdError(entered), "enter");
    auto values = All();
    if (!values.ok()) return values.status();
    const int left = sd_.exit_container(message_);
    if (left < 0) return Annotate(SdError(left), "leave");
    return values;
  }
  StatusOr<Value> Container(char type, const std::string& inside) {
    auto values = Inside(type, inside);
    if (!values.ok()) return values.status();
    if (type == SD_BUS_TYPE_ARRAY) return Array(inside, std::move(*values));
    if (type != SD_BUS_TYPE_VARIANT) return Struct(std::move(*values));
    if (values->size() != 1) return InvalidArgument("a variant of {} values", values->size());
    return Variant(std::move(values->front()));
  }
  StatusOr<Value> One(char type, const std::string& inside) {
    switch (type) {
      case SD_BUS_TYPE_BYTE: return Plain<uint8_t>(type);
      case SD_BUS_TYPE_BOOLEAN: return Plain<bool, int>(type);
      case SD_BUS_TYPE_INT32: return Plain<int32_t>(type);
      case SD_BUS_TYPE_UINT32: return Plain<uint32_t>(type);
      case SD_BUS_TYPE_INT64: return Plain<int64_t>(type);
      case SD_BUS_TYPE_UINT64: return Plain<uint64_t>(type);
      case SD_BUS_TYPE_DOUBLE: return Plain<double>(type);
      case SD_BUS_TYPE_STRING: return Plain<std::string, const char*>(type);
      case SD_BUS_TYPE_UNIX_FD: return Descriptor();
      case SD_BUS_TYPE_OBJECT_PATH: {
        const auto path = Basic<const char*>(type);
        if (!path.ok()) return path.status();
        return Value(ObjectPath{*path});
      }
      case SD_BUS_TYPE_ARRAY:
      case SD_BUS_TYPE_VARIANT:
      case SD_BUS_TYPE_STRUCT:
      case SD_BUS_TYPE_DICT_ENTRY: return Container(type, inside);
      default: return InvalidArgument("a value of type {}", type);
    }
  }

  const SdBus& sd_;
  sd_bus_message* const message_;
  size_t count_ = 0;
};

}  // namespace

Status SdError(int result) {
  switch (-result) {
    // sd-bus's errors for a bus that is gone or missing.
    case ECONNRESET:
    case ENOTCONN:
    case ECONNREFUSED:
    case EPIPE:
    case ESHUTDOWN:
    case ENOENT: return Unavailable(splitlet::Message(ErrnoStatus(-result)));
    case ETIMEDOUT: return DeadlineExceeded("no answer in time");
    default: return ErrnoStatus(-result);
  }
}

Status Append(const SdBus& sd, sd_bus_message* message, const Values& values) {
  const Writer writer(sd, message);
  for (size_t i = 0; i < values.size(); ++i) RETURN_IF_ERROR(writer.Put(values[i]), "value {}", i);
  return OkStatus();
}

StatusOr<Values> ReadValues(const SdBus& sd, sd_bus_message* message) {
  return Reader(sd, message).All();
}

}  // namespace splitlet::dbus
