#pragma once

/// Settings of pleg, from flags and KubeletConfiguration, and its fixed times.
/// Threads: values.
/// Errors: INVALID_ARGUMENT that names the key.
/// Source: docs/behaviour/relist.md, "Listing"; docs/behaviour/configuration.md, "Reading the
/// file".

#include <array>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::pleg {

struct PlegConfig {
  std::string runtime_endpoint;
  bool event_streams = true;  // the feature gate EventedPLEG is not set to false
  Duration request_timeout = std::chrono::minutes{2};   // of a listing
  Duration inspect_timeout = std::chrono::seconds{10};  // of one inspection of one pod
  Duration polling_period = std::chrono::seconds{1};    // from the end of a listing to the next
  Duration streaming_period = std::chrono::seconds{10};
  Duration relist_threshold = std::chrono::minutes{3};
  Duration status_period = std::chrono::seconds{5};  // once the runtime was ready
  /// Before that: a node that starts waits until the runtime and its network are ready.
  Duration first_status_period = std::chrono::milliseconds{200};
  Duration first_status_time = std::chrono::minutes{2};  // how long first_status_period lasts
  Duration unready_status_period = std::chrono::seconds{1};
  Duration status_threshold = std::chrono::seconds{30};
  Duration probe_period = std::chrono::minutes{1};  // while polling: try the streams again
  /// containerd 1.6 sends the event of an exit before its CRI shows it: 15 to 25 ms on a quiet
  /// machine, half a second and more on a very busy one. While the event is not shown, inspect
  /// again after the short waits and then after the long ones. The short ones are left out when the
  /// change cannot show soon.
  std::array<Duration, 5> short_waits = {
      std::chrono::milliseconds{5}, std::chrono::milliseconds{10}, std::chrono::milliseconds{10},
      std::chrono::milliseconds{15}, std::chrono::milliseconds{40}};
  std::array<Duration, 4> long_waits = {
      std::chrono::milliseconds{120}, std::chrono::milliseconds{225},
      std::chrono::milliseconds{600}, std::chrono::milliseconds{1400}};
  /// List again after these waits while no pod has the id of an event.
  std::array<Duration, 3> list_again = {
      std::chrono::milliseconds{20}, std::chrono::milliseconds{80}, std::chrono::milliseconds{320}};
};

StatusOr<PlegConfig> LoadPlegConfig(const config::KubeletConfig& file, const daemon::Flags& flags);

/// "3m0s", "1.5s": durations in health texts, as Go prints them.
std::string FormatGoDuration(Duration d);

}  // namespace splitlet::pleg
