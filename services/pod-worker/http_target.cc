#include "services/pod-worker/http_target.h"

#include <fmt/format.h>

#include <charconv>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr int kNamedPort = 1;  // IntOrString.type

}  // namespace

std::optional<int64_t> FindPort(const k8s::io::apimachinery::pkg::util::intstr::IntOrString& port,
                                const kube::Container& container) {
  if (port.type() != kNamedPort) return port.int_val();
  const std::string& name = port.str_val();
  for (const auto& one : container.ports())
    if (!name.empty() && one.name() == name) return one.container_port();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string HostAndPort(const std::string& host, int64_t port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string EscapedPath(std::string_view path) {
  std::string out = path.starts_with('/') ? "" : "/";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte > ' ' && byte < 0x7f &&
                       std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

}  // namespace splitlet::pod_worker
