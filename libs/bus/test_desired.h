#pragma once

/// The table `desired`: its owner and its records, for tests.

#include <cstdint>
#include <string>

#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {

inline constexpr uint64_t kBoot = 1;
inline const std::string kOwner = "config-source";

inline std::string Desired(const std::string& source, const std::string& name) {
  v1::DesiredRecord record;
  record.set_source(source);
  record.set_name(name);
  return record.SerializeAsString();
}

}  // namespace splitlet::bus
