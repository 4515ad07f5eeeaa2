#pragma once

/// Which containers are to be stopped, and how.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/termination.md, "Order of stops".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace splitlet::pod_worker {

struct ContainerStop {
  std::string id, name;
  std::string message;    // of the event `Killing`
  bool replaced = false;  // another attempt follows whatever the restart policy
  /// Its own, where a probe names one. Unset: the pod's.
  std::optional<int64_t> grace_seconds = std::nullopt;
  bool announced = false;  // the event Killing was recorded already
  bool aside = false;      // only the end of the pod waits for its end
  bool operator==(const ContainerStop&) const = default;
};

/// Containers to be stopped; one step after the other.
struct StopSteps {
  std::vector<std::vector<ContainerStop>> steps;
  std::optional<int64_t> grace_seconds;  // unset: what is left of the pod's deadline
  bool hooks = true;                     // preStop, before the stop signals
};

}  // namespace splitlet::pod_worker
