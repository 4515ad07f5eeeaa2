#pragma once

/// Strings as JSON writes them. Threads: any. Errors: none. Source: RFC 8259.

#include <string>
#include <string_view>

namespace splitlet::kube {

/// With quotes. Also escapes <, > and &, as Kubernetes does.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace splitlet::kube
