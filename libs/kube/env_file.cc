#include "libs/kube/env_file.h"

#include <algorithm>
#include <utility>

#include "libs/base/text.h"

namespace splitlet::kube {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Checks names that no environment can hold.
bool IsVariableName(std::string_view key) {
  return !key.empty() && std::ranges::none_of(key, [](char c) { return c <= ' ' || c > '~'; });
}

}  // namespace

StatusOr<std::map<std::string, std::string>> ParseEnvFile(std::string_view text) {
  std::map<std::string, std::string> variables;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view here = text.substr(0, end);
    const size_t first = here.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || here[first] == '#') {
      text.remove_prefix(std::min(end + 1, text.size()));
      continue;
    }
    const size_t equals = here.find('=');
    if (equals == std::string_view::npos || !IsVariableName(here.substr(0, equals)))
      return InvalidArgument("line {}: expected KEY='value'", line);
    if (equals + 1 >= here.size() || here[equals + 1] != '\'')
      return InvalidArgument("line {}: the value is not in single quotes", line);
    const size_t begin = equals + 2;
    const size_t close = text.find('\'', begin);
    if (close == std::string_view::npos)
      return InvalidArgument("line {}: the value does not end", line);
    const std::string_view value = text.substr(begin, close - begin);
    const size_t rest = std::min(text.find('\n', close), text.size());
    if (text.substr(close + 1, rest - close - 1).find_first_not_of(kBlanks) !=
        std::string_view::npos)
      return InvalidArgument("line {}: unexpected text after the value", line);
    if (!IsText(value)) return InvalidArgument("line {}: the value is not valid text", line);
    variables.insert_or_assign(std::string(here.substr(0, equals)), std::string(value));
    line += static_cast<int>(std::ranges::count(value, '\n'));
    text.remove_prefix(std::min(rest + 1, text.size()));
  }
  return variables;
}

}  // namespace splitlet::kube
