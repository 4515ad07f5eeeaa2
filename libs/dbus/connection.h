#pragma once

/// A bus over a socket, with a thread of its own while it is connected.
/// Threads: as in bus.h; the destructor joins the thread, so it must not run on that thread.
/// Errors:  UNAVAILABLE: nothing listens; DEADLINE_EXCEEDED: no answer; FAILED_PRECONDITION: no
///          libsystemd. Each names the address.
/// Source:  sd-bus(3).

#include <memory>
#include <string>

#include "libs/dbus/bus.h"

namespace splitlet::dbus {

/// DBUS_SYSTEM_BUS_ADDRESS of the environment, else "unix:path=/run/dbus/system_bus_socket".
std::string SystemBusAddress();

struct ConnectOptions {
  const Clock& clock;   // must be a RealClock
  std::string address;  // "unix:path=/run/dbus/system_bus_socket"
  OnLost on_lost = {};
};
StatusOr<std::unique_ptr<Bus>> ConnectBus(ConnectOptions options, Deadline deadline);

/// Connects to this address; the clock must outlive the result.
Connect ConnectTo(const Clock& clock, std::string address);

/// A bus on which a test serves calls in place of systemd and others.
class ServiceBus : public Bus {
 public:
  /// Returns the values of the reply, or an error (errors.h). Runs on the thread of the bus.
  using OnCall = std::function<StatusOr<Values>(const MethodCall& call)>;
  /// Takes the bus name; from then on `answer` receives its calls.
  virtual Status Serve(const std::string& name, OnCall answer, Deadline deadline) = 0;
  /// May be called on the thread of the bus; the signal is sent before the reply in progress.
  virtual Status Emit(const Signal& signal) = 0;
};
StatusOr<std::unique_ptr<ServiceBus>> ConnectService(ConnectOptions options, Deadline deadline);

}  // namespace splitlet::dbus
