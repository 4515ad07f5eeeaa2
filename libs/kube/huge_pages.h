#pragma once

/// Resource names of huge pages. Any thread; nothing fails.

#include <string_view>

#include "libs/kube/resources.h"

namespace splitlet::kube {

inline bool IsHugePages(std::string_view name) { return name.starts_with(kHugePagesPrefix); }

}  // namespace splitlet::kube
