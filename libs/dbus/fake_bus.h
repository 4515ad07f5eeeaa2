#pragma once

/// A bus in memory: a function answers calls; signals arrive before Emit returns. A fake service
/// for `OnCall` also works behind a real bus (ServiceBus).
/// Threads: one.
/// Errors:  those of `answer`; UNAVAILABLE once lost.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/dbus/bus.h"

namespace splitlet::dbus {

/// Outlives the buses connected to it.
class FakeDaemon {
 public:
  using OnCall = std::function<StatusOr<Values>(const MethodCall& call)>;

  /// Answers calls to this name; calls to other names are UNAVAILABLE.
  void Serve(const std::string& name, OnCall answer) { services_[name] = std::move(answer); }
  void Emit(const Signal& signal);
  /// Loses all buses; the next connection is a new one.
  void LoseAll();
  /// Result of each further connection; OK: a bus.
  void FailConnect(const Status& why) { connect_error_ = why; }
  Connect MakeConnect();
  StatusOr<std::unique_ptr<Bus>> Open(OnLost on_lost);
  size_t buses() const { return buses_.size(); }
  size_t watches() const;

 private:
  friend class FakeBus;
  std::map<std::string, OnCall> services_;
  std::vector<class FakeBus*> buses_;
  Status connect_error_;
};

}  // namespace splitlet::dbus
