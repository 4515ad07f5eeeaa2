#pragma once

/// A client's connection to D-Bus: method calls, signals, and a callback for the loss of the bus. A
/// lost bus stays lost; its user connects again. connection.h has the real bus, fake_bus.h one in
/// memory.
/// Threads: any, but callbacks must not call these functions. Calls block; callbacks run
///          on a thread of the bus and must not block: post to your loop (OnLoop).
/// Errors:  the peer's D-Bus error (errors.h), with name and text; UNAVAILABLE: the bus or the peer
///          is missing; DEADLINE_EXCEEDED.
/// Source:  sd-bus(3).

#include <functional>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/dbus/value.h"
#include "libs/exec/exec.h"

namespace splitlet::dbus {

struct MethodCall {
  std::string destination;  // "org.freedesktop.login1"
  ObjectPath path;          // "/org/freedesktop/login1"
  std::string interface;    // "org.freedesktop.login1.Manager"
  std::string member;       // "Inhibit"
  Values arguments = {};
};

struct Signal {
  ObjectPath path;
  std::string interface, member;
  Values arguments = {};
};

/// Selects signals; an empty field matches any.
struct SignalMatch {
  std::string sender;  // a well-known or unique bus name
  ObjectPath path = {};
  std::string interface = {}, member = {};
};

using OnSignal = std::function<void(const Signal& signal)>;
using OnLost = std::function<void(const Status& why)>;

/// Delivers signals while the object exists; no callback runs after its destructor.
class Watch {
 public:
  virtual ~Watch() = default;
};

class Bus {
 public:
  virtual ~Bus() = default;
  /// The values of the reply.
  virtual StatusOr<Values> Call(const MethodCall& call, Deadline deadline) = 0;
  /// OK once the bus has registered the match. From then on no signal is missed until the bus is
  /// lost. The watch must not outlive the bus.
  virtual StatusOr<std::unique_ptr<Watch>> WatchSignals(const SignalMatch& match, OnSignal callback,
                                                        Deadline deadline) = 0;
};

/// Connects to a bus; tests use a fake. `on_lost` is called once, unless the bus is destroyed
/// before; it may be empty.
using Connect = std::function<StatusOr<std::unique_ptr<Bus>>(OnLost on_lost, Deadline deadline)>;

/// Runs `callback` on the loop, which must outlive the watch or the bus.
inline OnSignal OnLoop(exec::EventLoop& loop, OnSignal callback) {
  return [&loop, callback = std::move(callback)](const Signal& signal) {
    loop.Post([callback, signal] { callback(signal); });
  };
}
inline OnLost LostOnLoop(exec::EventLoop& loop, OnLost callback) {
  return [&loop, callback = std::move(callback)](const Status& why) {
    loop.Post([callback, why] { callback(why); });
  };
}

/// Calls org.freedesktop.DBus.Properties.Get; returns the value itself, not the variant around it.
StatusOr<Value> GetProperty(Bus& bus, MethodCall object, const std::string& name,
                            Deadline deadline);

}  // namespace splitlet::dbus
