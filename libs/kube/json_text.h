#pragma once

/// Strings as JSON (RFC 8259) writes them. Any thread; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::kube {

/// With quotes. Also escapes <, > and &, as Kubernetes does.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace splitlet::kube
