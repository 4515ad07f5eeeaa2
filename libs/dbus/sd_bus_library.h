#pragma once

/// The functions of libsystemd that we use, loaded at first use and never unloaded. Linking the
/// library and its dependencies would cost memory in each process. Any thread.
/// Errors: FAILED_PRECONDITION: the library or a function is missing.
/// Source: sd-bus(3); docs/decisions/one-program.md.

#include <systemd/sd-bus.h>

#include "libs/base/status.h"

namespace splitlet::dbus {

struct SdBus {
  decltype(&sd_bus_new) bus_new = nullptr;
  decltype(&sd_bus_unref) bus_unref = nullptr;
  decltype(&sd_bus_close) close = nullptr;
  decltype(&sd_bus_flush) flush = nullptr;
  decltype(&sd_bus_set_address) set_address = nullptr;
  decltype(&sd_bus_set_bus_client) set_bus_client = nullptr;
  decltype(&sd_bus_negotiate_fds) negotiate_fds = nullptr;
  decltype(&sd_bus_start) start = nullptr;
  decltype(&sd_bus_is_ready) is_ready = nullptr;
  decltype(&sd_bus_is_open) is_open = nullptr;
  decltype(&sd_bus_process) process = nullptr;
  decltype(&sd_bus_get_fd) get_fd = nullptr;
  decltype(&sd_bus_get_events) get_events = nullptr;
  decltype(&sd_bus_get_timeout) get_timeout = nullptr;
  decltype(&sd_bus_call_async) call_async = nullptr;
  decltype(&sd_bus_send) send = nullptr;
  decltype(&sd_bus_add_filter) add_filter = nullptr;
  decltype(&sd_bus_match_signal_async) match_signal_async = nullptr;
  decltype(&sd_bus_slot_unref) slot_unref = nullptr;
  decltype(&sd_bus_message_unref) message_unref = nullptr;
  decltype(&sd_bus_message_new_method_call) new_method_call = nullptr;
  decltype(&sd_bus_message_new_method_return) new_method_return = nullptr;
  decltype(&sd_bus_message_new_method_errorf) new_method_errorf = nullptr;
  decltype(&sd_bus_message_new_signal) new_signal = nullptr;
  decltype(&sd_bus_message_get_type) get_type = nullptr;
  decltype(&sd_bus_message_get_path) get_path = nullptr;
  decltype(&sd_bus_message_get_interface) get_interface = nullptr;
  decltype(&sd_bus_message_get_member) get_member = nullptr;
  decltype(&sd_bus_message_get_destination) get_destination = nullptr;
  decltype(&sd_bus_message_get_error) get_error = nullptr;
  decltype(&sd_bus_message_append_basic) append_basic = nullptr;
  decltype(&sd_bus_message_open_container) open_container = nullptr;
  decltype(&sd_bus_message_close_container) close_container = nullptr;
  decltype(&sd_bus_message_peek_type) peek_type = nullptr;
  decltype(&sd_bus_message_read_basic) read_basic = nullptr;
  decltype(&sd_bus_message_enter_container) enter_container = nullptr;
  decltype(&sd_bus_message_exit_container) exit_container = nullptr;
};

/// One object for the whole process, once loaded.
StatusOr<const SdBus*> LoadSdBus();

}  // namespace splitlet::dbus
