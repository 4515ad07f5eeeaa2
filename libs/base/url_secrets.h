#pragma once

/// Removes secrets from URLs, for logs, records and answers.
/// Threads: any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet {

/// Hides user, password and values of the query: "https://xxxxx@host/pods?token=xxxxx".
std::string WithoutSecrets(std::string_view url);

}  // namespace splitlet
