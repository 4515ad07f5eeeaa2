#pragma once

/// Features of a simulated pod besides its container's command, by the number in its name: "p3" or
/// "p3-sim" from a manifest, "api3" from the server.
/// Threads: pure.
/// Errors: none.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

namespace splitlet::simulation {

struct PodSort {
  int32_t priority = 0;
  bool pulls = false;         // its image is absent at first
  bool pulls_always = false;  // pulls before each start of a container
  bool volumes = false;
  bool claims = false;  // claims on the persistent volumes of volume_truth.h; only for API pods
  bool limits = false;  // limits of CPU and memory; only for pods of manifests
};

inline constexpr int32_t kNodeCritical = 2'000'001'000;

inline PodSort SortOf(const std::string& pod_name) {
  const auto digit = std::find_if(pod_name.begin(), pod_name.end(),
                                  [](unsigned char c) { return std::isdigit(c); });
  const bool at_server = pod_name.starts_with("api");
  switch (digit == pod_name.end() ? '0' : *digit) {
    case '2': return {.volumes = true, .claims = at_server};
    case '3': return {.priority = 1000, .volumes = true, .claims = at_server};
    case '4': return {.priority = kNodeCritical, .pulls = true};
    case '5': return {.pulls = true, .limits = true};
    case '6': return {.pulls = true, .pulls_always = true};
    case '7': return {.limits = true};
    default: return {};
  }
}

}  // namespace splitlet::simulation
