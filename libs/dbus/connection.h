#pragma once

/// A bus by a socket. One thread, from the connection to its loss or end; none without one.
/// Threads: as in bus.h; ends by joining its thread, so not on it.
/// Errors:  UNAVAILABLE when nobody listens, DEADLINE_EXCEEDED when who listens does not answer,
///          FAILED_PRECONDITION without libsystemd; each names the address.
/// Source:  sd-bus(3).

#include <memory>
#include <string>

#include "libs/dbus/bus.h"

namespace splitlet::dbus {

/// DBUS_SYSTEM_BUS_ADDRESS of the environment, else "unix:path=/run/dbus/system_bus_socket".
std::string SystemBusAddress();

struct ConnectOptions {
  const Clock& clock;   // a RealClock
  std::string address;  // "unix:path=/run/dbus/system_bus_socket"
  OnLost on_lost = {};
};
StatusOr<std::unique_ptr<Bus>> ConnectBus(ConnectOptions options, Deadline deadline);

/// Connects to this address; the clock must outlive it.
Connect ConnectTo(const Clock& clock, std::string address);

/// One that answers calls, for what stands in for systemd and others in tests.
class ServiceBus : public Bus {
 public:
  /// The values of the reply, or an error (errors.h). On the thread of the bus.
  using OnCall = std::function<StatusOr<Values>(const MethodCall& call)>;
  /// Takes the name; calls to it are answered from then on.
  virtual Status Serve(const std::string& name, OnCall answer, Deadline deadline) = 0;
  /// Also on the thread of the bus: it goes out before the reply that is being made.
  virtual Status Emit(const Signal& signal) = 0;
};
StatusOr<std::unique_ptr<ServiceBus>> ConnectService(ConnectOptions options, Deadline deadline);

}  // namespace splitlet::dbus
