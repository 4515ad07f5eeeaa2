#pragma once

/// URLs as logs, records and answers may show them.
/// Threads: any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet {

/// User, password and the values of the query are hidden: "https://xxxxx@host/pods?token=xxxxx".
std::string WithoutSecrets(std::string_view url);

}  // namespace splitlet
