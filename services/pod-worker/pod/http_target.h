#pragma once

/// Where a probe or a hook of a container goes.
/// Threads: pure functions, any.
/// Errors:  a port that has no number is nothing; INVALID_ARGUMENT for a header that would be two.
/// Source:  kubelet ResolveContainerPort; RFC 3986.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class HTTPGetAction;
}
namespace k8s::io::apimachinery::pkg::util::intstr {
class IntOrString;
}

namespace splitlet::pod_worker {

/// Its number, or that of the container's port of this name; out of range as it is written.
std::optional<int64_t> FindPort(const k8s::io::apimachinery::pkg::util::intstr::IntOrString& port,
                                const kube::Container& container);

/// "10.1.2.3:80", "[fd00::1]:80".
std::string HostAndPort(const std::string& host, int64_t port);

/// A path with its query, as it can stand in a request line: what may not is escaped, what is
/// escaped already stays.
std::string EscapedPath(std::string_view path);

/// "HTTPS" as in a URL; http is the default.
std::string SchemeOf(const k8s::io::api::core::v1::HTTPGetAction& get);

/// Its headers as libs/http takes them, with a User-Agent. What says how the request is framed is
/// left out, as by Go; an empty User-Agent or Accept means none.
StatusOr<std::vector<std::string>> HeaderLines(const k8s::io::api::core::v1::HTTPGetAction& get,
                                               std::string_view user_agent);

}  // namespace splitlet::pod_worker
