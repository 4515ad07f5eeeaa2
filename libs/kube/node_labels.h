#pragma once

/// The labels with which a node may register itself. Any thread.
/// Errors: INVALID_ARGUMENT that names every label that may not be.
/// Source: kubelet --node-labels.

#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::kube {

/// From "key=value" each; the later of two with one key wins.
StatusOr<std::map<std::string, std::string>> ParseNodeLabels(const std::vector<std::string>& texts);

}  // namespace splitlet::kube
