#include "libs/process/look_up_host.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace splitlet::process {
namespace {

constexpr Duration kLookUpLimit = std::chrono::seconds{2};
constexpr size_t kMaxLookUp = 64 << 10;
constexpr int kNoSuchKey = 2;  // exit code of getent

}  // namespace

StatusOr<std::vector<std::string>> LookUpHost(const ProgramRunner& run, const std::string& name) {
  int exit_code = 0;
  const auto printed = run({.argv = {"getent", "ahosts", "--", name},
                            .env = {},
                            .input = "",
                            .limit = kLookUpLimit,
                            .max_output_bytes = kMaxLookUp,
                            .exit_code = &exit_code});
  if (exit_code == kNoSuchKey) return NotFound("{} has no address", name);
  if (!printed.ok()) return printed.status();
  std::vector<std::string> addresses;
  std::istringstream lines(*printed);
  for (std::string line; std::getline(lines, line);) {
    std::string address = line.substr(0, line.find(' '));
    if (!address.empty() && std::ranges::find(addresses, address) == addresses.end())
      addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace splitlet::process
