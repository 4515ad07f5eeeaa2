#include "libs/dbus/errors.h"

#include "libs/base/one_line.h"
#include "libs/base/text.h"

namespace splitlet::dbus {

namespace {

struct Named {
  std::string_view name;
  StatusCode code;
};

/// ErrorNameOf returns the first name for each code.
constexpr Named kNames[] = {
    {"org.freedesktop.DBus.Error.ServiceUnknown", StatusCode::kUnavailable},
    {"org.freedesktop.DBus.Error.NameHasNoOwner", StatusCode::kUnavailable},
    {"org.freedesktop.DBus.Error.NoServer", StatusCode::kUnavailable},
    {"org.freedesktop.DBus.Error.Disconnected", StatusCode::kUnavailable},
    {"org.freedesktop.DBus.Error.IOError", StatusCode::kUnavailable},
    {"org.freedesktop.systemd1.ShuttingDown", StatusCode::kUnavailable},
    {"org.freedesktop.DBus.Error.NoReply", StatusCode::kDeadlineExceeded},
    {"org.freedesktop.DBus.Error.Timeout", StatusCode::kDeadlineExceeded},
    {"org.freedesktop.DBus.Error.TimedOut", StatusCode::kDeadlineExceeded},
    {"org.freedesktop.DBus.Error.AccessDenied", StatusCode::kPermissionDenied},
    {"org.freedesktop.DBus.Error.AuthFailed", StatusCode::kPermissionDenied},
    {"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", StatusCode::kPermissionDenied},
    {"org.freedesktop.DBus.Error.InvalidArgs", StatusCode::kInvalidArgument},
    {"org.freedesktop.DBus.Error.InvalidSignature", StatusCode::kInvalidArgument},
    {"org.freedesktop.DBus.Error.LimitsExceeded", StatusCode::kResourceExhausted},
    {"org.freedesktop.DBus.Error.NoMemory", StatusCode::kResourceExhausted},
    {"org.freedesktop.DBus.Error.UnknownMethod", StatusCode::kUnimplemented},
    {"org.freedesktop.DBus.Error.UnknownInterface", StatusCode::kUnimplemented},
    {"org.freedesktop.DBus.Error.UnknownProperty", StatusCode::kUnimplemented},
    {"org.freedesktop.DBus.Error.NotSupported", StatusCode::kUnimplemented},
    {"org.freedesktop.DBus.Error.PropertyReadOnly", StatusCode::kFailedPrecondition},
    {"org.freedesktop.systemd1.NoSuchUnit", StatusCode::kNotFound},
    {"org.freedesktop.DBus.Error.UnknownObject", StatusCode::kNotFound},
    {"org.freedesktop.DBus.Error.FileNotFound", StatusCode::kNotFound},
    {"org.freedesktop.systemd1.UnitExists", StatusCode::kAlreadyExists},
    {"org.freedesktop.DBus.Error.Failed", StatusCode::kInternal},
};

}  // namespace

Status StatusOf(std::string_view name, std::string_view text) {
  const std::string message = OneLine(ToText(fmt::format("{}: {}", name, text)));
  for (const Named& known : kNames)
    if (known.name == name) return MakeStatus(known.code, message);
  return Unknown(message);
}

std::string ErrorNameOf(StatusCode code) {
  for (const Named& known : kNames)
    if (known.code == code) return std::string(known.name);
  return "org.freedesktop.DBus.Error.Failed";
}

}  // namespace splitlet::dbus
