#pragma once

/// Pods as bytes that can be compared, hashed and saved: protobuf maps have no order of their own.
/// Threads: any.
/// Errors: none.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

/// Equal for equal pods, whatever the order in which their maps were filled.
std::string SerializeStable(const kube::Pod& pod);

}  // namespace splitlet::config_source
