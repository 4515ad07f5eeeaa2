#pragma once

/// Labels with which a node may register itself. Any thread.
/// Errors: INVALID_ARGUMENT that names every forbidden label.
/// Source: kubelet --node-labels.

#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::kube {

/// Each entry is "key=value"; a later entry of the same key wins.
StatusOr<std::map<std::string, std::string>> ParseNodeLabels(const std::vector<std::string>& texts);

}  // namespace splitlet::kube
