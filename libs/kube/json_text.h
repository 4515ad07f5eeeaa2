#pragma once

/// Writes strings as JSON (RFC 8259). Any thread; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::kube {

/// Adds quotes. Also escapes <, > and &, as Kubernetes does.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace splitlet::kube
