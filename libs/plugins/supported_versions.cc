#include "libs/plugins/supported_versions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace splitlet::plugins {
namespace {

constexpr const char* kDevicePluginVersion = "v1beta1";
constexpr std::array kDraServices = {"v1.DRAPlugin", "v1beta1.DRAPlugin"};

std::string_view WithoutBlanks(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\n\r\f\v");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

StatusOr<DriverVersion> DriverVersion::Parse(const std::string& text) {
  std::string_view rest = WithoutBlanks(text);
  if (rest.starts_with('v')) rest.remove_prefix(1);
  std::vector<uint64_t> numbers;
  while (!rest.empty() && IsDigit(rest[0])) {
    const bool zero_first = rest[0] == '0' && rest.size() > 1 && IsDigit(rest[1]);
    uint64_t number = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (read.ec != std::errc() || (zero_first && numbers.empty()))
      return InvalidArgument("illegal version string \"{}\"", text);
    numbers.push_back(number);
    rest.remove_prefix(static_cast<size_t>(read.ptr - rest.data()));
    if (rest.size() < 2 || rest[0] != '.' || !IsDigit(rest[1])) break;
    rest.remove_prefix(1);
  }
  if (numbers.empty()) return InvalidArgument("could not parse \"{}\" as version", text);
  if (numbers.size() < 2) return InvalidArgument("illegal version string \"{}\"", text);
  return DriverVersion(std::move(numbers));
}

std::string DriverVersion::ToText() const { return fmt::format("{}", fmt::join(numbers_, ".")); }

std::strong_ordering DriverVersion::operator<=>(const DriverVersion& other) const {
  const auto at = [](const std::vector<uint64_t>& numbers, size_t i) {
    return i < numbers.size() ? numbers[i] : 0;
  };
  for (size_t i = 0; i < std::max(numbers_.size(), other.numbers_.size()); ++i) {
    const auto order = at(numbers_, i) <=> at(other.numbers_, i);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

StatusOr<DriverVersion> HighestCsiVersion(const std::vector<std::string>& versions) {
  std::optional<DriverVersion> highest;
  Status error;
  for (const auto& text : versions) {
    auto version = DriverVersion::Parse(text);
    if (!version.ok()) {
      error = error.ok() ? version.status() : error;
    } else if (version->major_number() <= 1 && (!highest || *highest < *version)) {
      highest = *std::move(version);
    }
  }
  if (!highest)
    return InvalidArgument(
        "could not find a highest supported version from versions ({}) reported: {}",
        fmt::format("[{}]", fmt::join(versions, " ")), error.ok() ? "<nil>" : Message(error));
  if (highest->major_number() != 1)
    return InvalidArgument("highest supported version reported is {}, must be v1.x",
                           highest->ToText());
  return *std::move(highest);
}

Status CheckDevicePluginVersions(const std::vector<std::string>& versions) {
  if (std::find(versions.begin(), versions.end(), kDevicePluginVersion) != versions.end())
    return OkStatus();
  return InvalidArgument("manager version, {}, is not among plugin supported versions [{}]",
                         kDevicePluginVersion, fmt::join(versions, " "));
}

StatusOr<std::string> ChooseDraService(const std::vector<std::string>& versions) {
  if (versions.empty())
    return InvalidArgument("empty list of supported gRPC services (aka supported versions)");
  for (const auto& version : versions) {
    if (std::find(kDraServices.begin(), kDraServices.end(), version) != kDraServices.end())
      return version;
  }
  return InvalidArgument(
      "none of services supported by the plugin ({}) are supported by the kubelet ({})",
      QuotedList(versions), QuotedList({kDraServices.begin(), kDraServices.end()}));
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const auto& text : texts) list += (list.empty() ? "\"" : " \"") + text + "\"";
  return "[" + list + "]";
}

}  // namespace splitlet::plugins
