#pragma once

/// Finds the calls of a registered driver. The registration of drivers implements it.
/// Threads: the loop's.
/// Errors:  NOT_FOUND with the kubelet's text: no driver of this name is registered now.
/// Source:  kubelet csi newCsiDriverClient.

#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/driver_calls.h"

namespace splitlet::csi {

class DriverLookup {
 public:
  virtual ~DriverLookup() = default;
  /// The calls stay usable while the result is held; those of a driver that has gone fail.
  virtual StatusOr<std::shared_ptr<DriverCalls>> Find(const std::string& name) const = 0;
};

inline Status NoDriver(const std::string& name) {
  return NotFound("driver name {} not found in the list of registered CSI drivers", name);
}

/// A node without drivers.
class NoDrivers final : public DriverLookup {
 public:
  StatusOr<std::shared_ptr<DriverCalls>> Find(const std::string& name) const override {
    return NoDriver(name);
  }
};

}  // namespace splitlet::csi
