#pragma once

/// A record's scope of completeness: for `desired` its source, else kAll; "" if it does not parse.
/// Threads: any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::bus {

std::string ScopeOf(std::string_view table, const std::string& record);

}  // namespace splitlet::bus
