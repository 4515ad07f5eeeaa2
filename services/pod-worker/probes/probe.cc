#include "services/pod-worker/probes/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"
#include "services/pod-worker/pod/http_target.h"
#include "services/pod-worker/runtime_config/environment.h"

namespace splitlet::pod_worker {

namespace core = k8s::io::api::core::v1;

namespace {

constexpr int kMaxPort = 65535;

StatusOr<int> CheckPort(int64_t port) {
  if (port < 1 || port > kMaxPort) return InvalidArgument("invalid port number: {}", port);
  return static_cast<int>(port);
}

StatusOr<int> PortOf(const k8s::io::apimachinery::pkg::util::intstr::IntOrString& port,
                     const kube::Container& container) {
  const auto number = FindPort(port, container);
  if (!number) return InvalidArgument("couldn't find port: \"{}\"", port.str_val());
  return CheckPort(*number);
}

/// Replaces $(NAME) only for variables with a literal value.
std::vector<std::string> ExpandedCommand(const core::ExecAction& exec,
                                         const kube::Container& container) {
  std::map<std::string, std::string> known;
  for (const auto& variable : container.env())
    if (!variable.has_value_from()) known[variable.name()] = variable.value();
  std::vector<std::string> command;
  for (const auto& word : exec.command()) command.push_back(Expand(word, known));
  return command;
}

StatusOr<ProbeAction> HttpOf(const core::HTTPGetAction& get, const kube::Container& container,
                             const std::string& pod_ip) {
  ASSIGN_OR_RETURN(const int port, PortOf(get.port(), container), "httpGet");
  HttpProbe probe{.host = get.host().empty() ? pod_ip : get.host()};
  probe.url = fmt::format("{}://{}{}", SchemeOf(get), HostAndPort(probe.host, port),
                          EscapedPath(get.path()));
  ASSIGN_OR_RETURN(probe.headers, HeaderLines(get, kProbeAgent), "httpGet");
  probe.headers.emplace_back("Connection: close");
  return probe;
}

Duration Seconds(int32_t seconds) { return std::chrono::seconds{std::max(seconds, 0)}; }

}  // namespace

ProbeTiming TimingOf(const core::Probe& probe) {
  const ProbeTiming defaults;
  const auto or_else = [](int32_t value, auto fallback) {
    return value > 0 ? static_cast<decltype(fallback)>(value) : fallback;
  };
  ProbeTiming timing{
      .initial_delay = Seconds(probe.initial_delay_seconds()),
      .success_threshold = or_else(probe.success_threshold(), defaults.success_threshold),
      .failure_threshold = or_else(probe.failure_threshold(), defaults.failure_threshold)};
  if (probe.period_seconds() > 0) timing.period = Seconds(probe.period_seconds());
  if (probe.timeout_seconds() > 0) timing.timeout = Seconds(probe.timeout_seconds());
  return timing;
}

StatusOr<ProbeAction> ActionOf(const core::Probe& probe, const kube::Container& container,
                               const std::string& pod_ip) {
  const core::ProbeHandler& handler = probe.handler();
  if (handler.has_exec()) return ExecProbe{ExpandedCommand(handler.exec(), container)};
  if (handler.has_http_get()) return HttpOf(handler.http_get(), container, pod_ip);
  if (handler.has_tcp_socket()) {
    const core::TCPSocketAction& tcp = handler.tcp_socket();
    ASSIGN_OR_RETURN(const int port, PortOf(tcp.port(), container), "tcpSocket");
    return TcpProbe{tcp.host().empty() ? pod_ip : tcp.host(), port};
  }
  if (handler.has_grpc()) {
    ASSIGN_OR_RETURN(const int port, CheckPort(handler.grpc().port()), "grpc");
    return GrpcProbe{pod_ip, port, handler.grpc().service()};
  }
  return InvalidArgument("missing probe handler for {}", container.name());
}

bool LacksAddress(const ProbeAction& action) {
  return std::visit(
      [](const auto& probe) {
        if constexpr (requires { probe.host; }) return probe.host.empty();
        return false;
      },
      action);
}

}  // namespace splitlet::pod_worker
