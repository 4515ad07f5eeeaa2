#include "services/pleg/config.h"

#include <fmt/format.h>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::pleg {

StatusOr<PlegConfig> LoadPlegConfig(const config::KubeletConfig& file, const daemon::Flags& flags) {
  PlegConfig config;
  config.runtime_endpoint =
      flags.runtime_endpoint.empty() ? file.container_runtime_endpoint : flags.runtime_endpoint;
  config.request_timeout = file.runtime_request_timeout;
  // Unlike a kubelet, pleg uses event streams unless the gate is set to false.
  config.event_streams = file.gates.Said("EventedPLEG").value_or(true);
  if (config.runtime_endpoint.empty())
    return InvalidArgument("containerRuntimeEndpoint: must not be empty");
  if (config.request_timeout <= Duration{0})
    return InvalidArgument("runtimeRequestTimeout: must be greater than 0");
  return config;
}

std::string FormatGoDuration(Duration d) {
  const int64_t ns = d.count();
  const int64_t seconds = ns / 1'000'000'000;
  std::string fraction = fmt::format("{:09}", ns % 1'000'000'000);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  const std::string rest = fraction.empty() ? fmt::format("{}s", seconds % 60)
                                            : fmt::format("{}.{}s", seconds % 60, fraction);
  if (seconds >= 3600) return fmt::format("{}h{}m{}", seconds / 3600, seconds / 60 % 60, rest);
  if (seconds >= 60) return fmt::format("{}m{}", seconds / 60, rest);
  return rest;
}

}  // namespace splitlet::pleg
