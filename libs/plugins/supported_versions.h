#pragma once

/// Which of the versions that a plugin supports this node can use, with a kubelet's texts.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT: no version can be used. The caller adds what it validates.
/// Source:  kubelet csi_plugin, devicemanager and DRA plugin validation.

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::plugins {

/// "1.9.0": numbers from the most significant on. A missing number is 0.
class DriverVersion {
 public:
  /// Takes "v1.2", "1.2.3-rc1"; needs two numbers.
  static StatusOr<DriverVersion> Parse(const std::string& text);
  uint64_t major_number() const { return numbers_[0]; }
  std::string ToText() const;
  std::strong_ordering operator<=>(const DriverVersion& other) const;
  bool operator==(const DriverVersion& other) const { return (*this <=> other) == 0; }

 private:
  explicit DriverVersion(std::vector<uint64_t> numbers) : numbers_(std::move(numbers)) {}
  std::vector<uint64_t> numbers_;
};

/// Highest version of a CSI driver with major 1. Higher majors and other texts are ignored.
StatusOr<DriverVersion> HighestCsiVersion(const std::vector<std::string>& versions);

/// v1beta1 is among them.
Status CheckDevicePluginVersions(const std::vector<std::string>& versions);

/// First service of the driver's list that this node calls: "v1.DRAPlugin" or "v1beta1.DRAPlugin".
StatusOr<std::string> ChooseDraService(const std::vector<std::string>& versions);

/// ["a" "b"], as a kubelet quotes a list.
std::string QuotedList(const std::vector<std::string>& texts);

}  // namespace splitlet::plugins
