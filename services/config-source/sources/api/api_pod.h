#pragma once

/// Accepts a pod of an API server. The server has defaulted and validated it, so only properties
/// that would harm this node are checked: UID and names (they name files), strings that are not
/// UTF-8, and the size.
/// Threads: pure, any; about 30 us for 5 KB.
/// Errors: INVALID_ARGUMENT that names the field.
/// Source: docs/behaviour/config-sources.md, "API server"; docs/safety.md, rule 27.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/gated_fields.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

/// The result has no managed fields, and no fields whose feature gate is off. `dropped` gets a text
/// for each of the latter.
StatusOr<SourcePodRef> AcceptApiPod(const kube::Pod& pod, const kube::GatesOff& off,
                                    std::vector<std::string>& dropped);

}  // namespace splitlet::config_source
