#include "libs/dbus/sd_bus_library.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>

namespace splitlet::dbus {
namespace {

constexpr const char* kFile = "libsystemd.so.0";

template <class Function>
Status Find(void* library, const char* name, Function& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) return FailedPrecondition("{} has no {}", kFile, name);
  function = reinterpret_cast<Function>(found);
  return OkStatus();
}

StatusOr<SdBus> Load() {
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return FailedPrecondition("D-Bus needs libsystemd: {}", why == nullptr ? kFile : why);
  }
  SdBus sd;
  RETURN_IF_ERROR(Find(library, "sd_bus_new", sd.bus_new), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_unref", sd.bus_unref), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_close", sd.close), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_flush", sd.flush), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_set_address", sd.set_address), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_set_bus_client", sd.set_bus_client), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_negotiate_fds", sd.negotiate_fds), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_start", sd.start), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_is_ready", sd.is_ready), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_is_open", sd.is_open), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_process", sd.process), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_get_fd", sd.get_fd), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_get_events", sd.get_events), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_get_timeout", sd.get_timeout), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_call_async", sd.call_async), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_send", sd.send), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_add_filter", sd.add_filter), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_match_signal_async", sd.match_signal_async), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_slot_unref", sd.slot_unref), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_unref", sd.message_unref), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_new_method_call", sd.new_method_call), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_new_method_return", sd.new_method_return), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_new_method_errorf", sd.new_method_errorf), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_new_signal", sd.new_signal), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_type", sd.get_type), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_path", sd.get_path), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_interface", sd.get_interface), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_member", sd.get_member), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_destination", sd.get_destination), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_get_error", sd.get_error), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_append_basic", sd.append_basic), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_open_container", sd.open_container), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_close_container", sd.close_container), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_peek_type", sd.peek_type), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_read_basic", sd.read_basic), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_enter_container", sd.enter_container), "load");
  RETURN_IF_ERROR(Find(library, "sd_bus_message_exit_container", sd.exit_container), "load");
  return sd;
}

}  // namespace

StatusOr<const SdBus*> LoadSdBus() {
  static std::mutex mutex;
  static std::optional<SdBus> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    ASSIGN_OR_RETURN(loaded, Load(), "{}", kFile);
  }
  return &*loaded;
}

}  // namespace splitlet::dbus
