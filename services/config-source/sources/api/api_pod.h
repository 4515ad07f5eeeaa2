#pragma once

/// A pod as an API server gives it: taken as it is, since the server has defaulted and validated
/// it. Only what would harm this node is looked at: UID and names, which name files, text that is
/// no text, and its size.
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

/// Without managed fields, which nobody here reads, and without fields whose gate is off, which
/// `taken_out` is told of.
StatusOr<SourcePodRef> TakeApiPod(const kube::Pod& pod, const kube::GatesOff& off,
                                  std::vector<std::string>& taken_out);

}  // namespace splitlet::config_source
