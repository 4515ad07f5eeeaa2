#pragma once

/// Reads and writes Values in messages of sd-bus.
/// Threads: that of the message's bus.
/// Errors:  INVALID_ARGUMENT: a value that does not fit its type, or a type that Value lacks;
///          RESOURCE_EXHAUSTED: more than 100,000 values.
/// Source:  sd_bus_message_append_basic(3); sd_bus_message_read_basic(3).

#include "libs/dbus/sd_bus_library.h"
#include "libs/dbus/value.h"

namespace splitlet::dbus {

Status Append(const SdBus& sd, sd_bus_message* message, const Values& values);
/// Reads from the current position to the end. File descriptors are duplicated.
StatusOr<Values> ReadValues(const SdBus& sd, sd_bus_message* message);

/// A negative result of sd-bus.
Status SdError(int result);

}  // namespace splitlet::dbus
