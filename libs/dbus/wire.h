#pragma once

/// Values into and out of messages of sd-bus.
/// Threads: that of the message's bus.
/// Errors:  INVALID_ARGUMENT for a value that its type does not fit, or a type that Value lacks;
///          RESOURCE_EXHAUSTED for a message of more than 100,000 values.
/// Source:  sd_bus_message_append_basic(3); sd_bus_message_read_basic(3).

#include "libs/dbus/sd_bus_library.h"
#include "libs/dbus/value.h"

namespace splitlet::dbus {

Status Append(const SdBus& sd, sd_bus_message* message, const Values& values);
/// From where the message stands to its end. File descriptors are copies.
StatusOr<Values> ReadValues(const SdBus& sd, sd_bus_message* message);

/// A negative result of sd-bus.
Status SdError(int result);

}  // namespace splitlet::dbus
