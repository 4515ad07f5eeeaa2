#include "services/pod-worker/objects/service_variables.h"

#include <algorithm>
#include <cctype>

#include "k8s.io/api/core/v1/service.pb.h"

namespace splitlet::pod_worker {
namespace {

using Variables = std::map<std::string, std::string>;

std::string VariableName(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return text;
}

std::string Protocol(const k8s::io::api::core::v1::ServicePort& port) {
  std::string text = port.protocol().empty() ? "TCP" : port.protocol();
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Variables in the style of Docker's container links.
void AddLinks(const std::string& name, const k8s::io::api::core::v1::ServiceSpec& spec,
              Variables& out) {
  const std::string& ip = spec.cluster_ip();
  const std::string host = ip.find(':') == std::string::npos ? ip : "[" + ip + "]";
  for (const auto& port : spec.ports()) {
    const std::string protocol = Protocol(port);
    const std::string url = fmt::format("{}://{}:{}", protocol, host, port.port());
    const std::string prefix =
        fmt::format("{}_PORT_{}_{}", name, port.port(), VariableName(protocol));
    out.emplace(name + "_PORT", url);  // of the first port only
    out[prefix] = url;
    out[prefix + "_PROTO"] = protocol;
    out[prefix + "_PORT"] = std::to_string(port.port());
    out[prefix + "_ADDR"] = ip;
  }
}

}  // namespace

Variables ServiceVariables(const std::vector<ObjectPtr<Service>>& services) {
  Variables out;
  for (const auto& service : services) {
    const auto& spec = service->spec();
    if (spec.cluster_ip().empty() || spec.cluster_ip() == "None" || spec.ports().empty()) continue;
    const std::string name = VariableName(service->metadata().name());
    out[name + "_SERVICE_HOST"] = spec.cluster_ip();
    out[name + "_SERVICE_PORT"] = std::to_string(spec.ports(0).port());
    for (const auto& port : spec.ports())
      if (!port.name().empty())
        out[name + "_SERVICE_PORT_" + VariableName(port.name())] = std::to_string(port.port());
    AddLinks(name, spec, out);
  }
  return out;
}

}  // namespace splitlet::pod_worker
