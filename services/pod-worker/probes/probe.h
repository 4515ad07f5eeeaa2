#pragma once

/// A probe of a container: its kind, its times and its action.
/// Threads: values and pure functions, any.
/// Errors:  as each function says.
/// Units:   Duration.
/// Source:  docs/behaviour/probes.md.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/probe_results.h"

namespace k8s::io::api::core::v1 {
class Probe;
}

namespace splitlet::pod_worker {

/// With the API server's defaults for values that a pod without validation lacks or has out of
/// range.
struct ProbeTiming {
  Duration initial_delay{0}, period = std::chrono::seconds{10}, timeout = std::chrono::seconds{1};
  int success_threshold = 1, failure_threshold = 3;
  bool operator==(const ProbeTiming&) const = default;
};
ProbeTiming TimingOf(const k8s::io::api::core::v1::Probe& probe);

// The action of a probe, with the address of its target filled in.
struct ExecProbe {
  std::vector<std::string> command;
  bool operator==(const ExecProbe&) const = default;
};
inline constexpr std::string_view kProbeAgent = "kube-probe/1.36";
struct HttpProbe {
  std::string host;  // of `url`; may be empty
  std::string url;
  std::vector<std::string> headers;  // lines, as libs/http takes them
  bool operator==(const HttpProbe&) const = default;
};
struct TcpProbe {
  std::string host;
  int port = 0;
  bool operator==(const TcpProbe&) const = default;
};
struct GrpcProbe {
  std::string host;
  int port = 0;
  std::string service;  // may be empty
  bool operator==(const GrpcProbe&) const = default;
};
using ProbeAction = std::variant<ExecProbe, HttpProbe, TcpProbe, GrpcProbe>;

/// INVALID_ARGUMENT: a port or header cannot be used, or the probe has no action. The host is empty
/// while the pod has no address.
StatusOr<ProbeAction> ActionOf(const k8s::io::api::core::v1::Probe& probe,
                               const kube::Container& container, const std::string& pod_ip);

/// The action needs the pod's address, which is not known yet.
bool LacksAddress(const ProbeAction& action);

/// The outcome of one run of a probe.
struct ProbeAnswer {
  enum class Kind {
    kSuccess,
    kWarning,  // counts as success
    kFailure,
    kError,  // tells nothing about the container
  };
  Kind kind = Kind::kError;
  std::string text;     // for people; bounded
  bool failed = false;  // of kError: events call the state "failure", else "unknown"
  Duration took{0};     // since the run got its slot
};
/// Bytes of an answer's text, and of a command's output.
inline constexpr size_t kMaxProbeOutput = 10240;

}  // namespace splitlet::pod_worker
