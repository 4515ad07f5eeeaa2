#pragma once

/// Converts values of flags into configuration fields. For .cc files only: brings yaml-cpp.
/// Threads: pure.
/// Errors: INVALID_ARGUMENT that names the flag.
/// Source: kubelet --help, k8s.io/component-base/cli/flag.

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "kubelet/flag_table.h"
#include "libs/base/status.h"

namespace splitlet::kubelet {

/// `values`: all values of the flag, in order. Lists and maps add up; of other kinds the last value
/// counts.
StatusOr<YAML::Node> FieldValue(const FlagRow& row, const std::vector<std::string>& values);

}  // namespace splitlet::kubelet
