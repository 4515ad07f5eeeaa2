#include "services/pod-worker/pod/http_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"
#include "libs/base/text.h"

namespace splitlet::pod_worker {

namespace {

constexpr int kNamedPort = 1;  // IntOrString.type
constexpr size_t kMaxName = 256;

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool HasControls(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' && c != '\t'; });
}

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

std::string SchemeOf(const k8s::io::api::core::v1::HTTPGetAction& get) {
  return get.scheme().empty() ? "http" : Lower(get.scheme());
}

StatusOr<std::vector<std::string>> HeaderLines(const k8s::io::api::core::v1::HTTPGetAction& get,
                                               std::string_view user_agent) {
  static const std::set<std::string> kFraming{"content-length", "trailer", "transfer-encoding"};
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const auto& header : get.http_headers()) {
    if (HasControls(header.name()) || HasControls(header.value()))
      return InvalidArgument("invalid header field \"{}\"", ToText(header.name(), kMaxName));
    const std::string name = Lower(header.name());
    const bool first = seen.insert(name).second;
    const bool one = name == "host" || name == "user-agent";  // of which the first counts
    if (kFraming.contains(name) || (one && !first)) continue;
    if (!header.value().empty()) {
      lines.push_back(header.name() + ": " + header.value());
    } else if (name == "accept") {
      lines.emplace_back("Accept:");  // none is sent
    } else if (!one) {
      lines.push_back(header.name() + ";");
    }
  }
  if (!seen.contains("user-agent")) lines.push_back(fmt::format("User-Agent: {}", user_agent));
  return lines;
}

}  // namespace splitlet::pod_worker
