#pragma once

/// Which scope of completeness a record belongs to: the source of a `desired` record, else kAll.
/// Threads: any. Errors: none; a record that does not parse has the scope "".

#include <string>
#include <string_view>

namespace splitlet::bus {

std::string ScopeOf(std::string_view table, const std::string& record);

}  // namespace splitlet::bus
