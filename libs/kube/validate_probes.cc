#include "libs/kube/validate_probes.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

template <class IntOrString>
void ValidatePort(const IntOrString& port, const std::string& path, FieldErrors& errors) {
  if (port.type() == 1) {
    errors.Check(path, port.str_val(), CheckPortName(port.str_val()));
  } else if (port.int_val() < 1 || port.int_val() > 65535) {
    errors.Invalid(path, port.int_val(), "must be between 1 and 65535, inclusive");
  }
}

/// Checks the handlers that probes and hooks share (exec, httpGet, tcpSocket); returns their
/// number.
template <class Handler>
int ValidateActions(const Handler& handler, const std::string& path, FieldErrors& errors) {
  if (handler.has_exec() && handler.exec().command_size() == 0)
    errors.Required(Field(path, "exec.command"));
  if (handler.has_http_get()) {
    const auto& get = handler.http_get();
    const std::string at = Field(path, "httpGet");
    if (get.path().empty()) errors.Required(Field(at, "path"));
    ValidatePort(get.port(), Field(at, "port"), errors);
    if (get.scheme() != "HTTP" && get.scheme() != "HTTPS")
      errors.Unsupported(Field(at, "scheme"), get.scheme(), {"HTTP", "HTTPS"});
    for (int i = 0; i < get.http_headers_size(); ++i)
      errors.Check(Field(At(Field(at, "httpHeaders"), i), "name"), get.http_headers(i).name(),
                   CheckHttpHeaderName(get.http_headers(i).name()));
  }
  if (handler.has_tcp_socket())
    ValidatePort(handler.tcp_socket().port(), Field(path, "tcpSocket.port"), errors);
  return handler.has_exec() + handler.has_http_get() + handler.has_tcp_socket();
}

void CheckCount(int count, const std::string& path, FieldErrors& errors) {
  if (count == 0) errors.Required(path, "must specify a handler type");
  if (count > 1) errors.Forbidden(path, "may not specify more than 1 handler type");
}

enum class ProbeKind { kLiveness, kReadiness, kStartup };

void ValidateProbe(const core::Probe& probe, ProbeKind kind, const std::string& path,
                   FieldErrors& errors) {
  int handlers = ValidateActions(probe.handler(), path, errors);
  if (probe.handler().has_grpc()) {
    ++handlers;
    const int32_t port = probe.handler().grpc().port();
    if (port < 1 || port > 65535)
      errors.Invalid(Field(path, "grpc.port"), port, "must be between 1 and 65535, inclusive");
  }
  CheckCount(handlers, path, errors);
  const struct {
    std::string_view name;
    int32_t value;
  } kCounts[] = {{"initialDelaySeconds", probe.initial_delay_seconds()},
                 {"timeoutSeconds", probe.timeout_seconds()},
                 {"periodSeconds", probe.period_seconds()},
                 {"successThreshold", probe.success_threshold()},
                 {"failureThreshold", probe.failure_threshold()}};
  for (const auto& count : kCounts)
    if (count.value < 0)
      errors.Invalid(Field(path, count.name), count.value, "must be greater than or equal to 0");
  if (kind != ProbeKind::kReadiness && probe.success_threshold() != 1)
    errors.Invalid(Field(path, "successThreshold"), probe.success_threshold(), "must be 1");
  if (!probe.has_termination_grace_period_seconds()) return;
  if (kind == ProbeKind::kReadiness)
    errors.Invalid(Field(path, "terminationGracePeriodSeconds"),
                   probe.termination_grace_period_seconds(), "must not be set for readinessProbes");
  else if (probe.termination_grace_period_seconds() < 1)
    errors.Invalid(Field(path, "terminationGracePeriodSeconds"),
                   probe.termination_grace_period_seconds(), "must be greater than 0");
}

void ValidateHook(const core::LifecycleHandler& hook, int64_t grace, const std::string& path,
                  FieldErrors& errors) {
  int handlers = ValidateActions(hook, path, errors);
  if (hook.has_sleep()) {
    ++handlers;
    if (hook.sleep().seconds() < 0 || hook.sleep().seconds() > grace)
      errors.Invalid(
          Field(path, "sleep.seconds"), hook.sleep().seconds(),
          fmt::format("must be non-negative and not above terminationGracePeriodSeconds ({})",
                      grace));
  }
  CheckCount(handlers, path, errors);
}

}  // namespace

void ValidateProbes(const ContainerInPod& checked, FieldErrors& errors) {
  const auto& [container, spec, long_lived, path] = checked;
  const std::string lifecycle = Field(path, "lifecycle");
  if (!long_lived) {
    static constexpr std::string_view kWhy =
        "may not be set for init containers without restartPolicy=Always";
    if (container.has_lifecycle()) errors.Forbidden(lifecycle, std::string(kWhy));
    if (container.has_liveness_probe())
      errors.Forbidden(Field(path, "livenessProbe"), std::string(kWhy));
    if (container.has_readiness_probe())
      errors.Forbidden(Field(path, "readinessProbe"), std::string(kWhy));
    if (container.has_startup_probe())
      errors.Forbidden(Field(path, "startupProbe"), std::string(kWhy));
    return;
  }
  if (container.has_liveness_probe())
    ValidateProbe(container.liveness_probe(), ProbeKind::kLiveness, Field(path, "livenessProbe"),
                  errors);
  if (container.has_readiness_probe())
    ValidateProbe(container.readiness_probe(), ProbeKind::kReadiness, Field(path, "readinessProbe"),
                  errors);
  if (container.has_startup_probe())
    ValidateProbe(container.startup_probe(), ProbeKind::kStartup, Field(path, "startupProbe"),
                  errors);
  const int64_t grace = spec.termination_grace_period_seconds();
  if (container.lifecycle().has_post_start())
    ValidateHook(container.lifecycle().post_start(), grace, Field(lifecycle, "postStart"), errors);
  if (container.lifecycle().has_pre_stop())
    ValidateHook(container.lifecycle().pre_stop(), grace, Field(lifecycle, "preStop"), errors);
  if (!container.lifecycle().stop_signal().empty() && spec.os().name().empty())
    errors.Forbidden(Field(lifecycle, "stopSignal"), "may not be set without `spec.os.name`");
}

}  // namespace splitlet::kube
