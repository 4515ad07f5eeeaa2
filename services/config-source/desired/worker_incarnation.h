#pragma once

/// The incarnation of a pod, from its record in `workers`.
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/behaviour/config-sources.md, "Incarnations of a UID"; docs/safety.md, rule 2.

#include <cstdint>
#include <optional>
#include <string_view>

#include "services/config-source/desired/incarnation.h"

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::config_source {

/// Nothing if `record` is nullptr or of another pod, or pod-worker cannot read its own files of the
/// pod. `withdrawn`: the last incarnation of the pod that was removed here. `boot`: this boot.
std::optional<WorkerIncarnation> WorkerIncarnationOf(const v1::WorkerRecord* record,
                                                     std::string_view uid,
                                                     std::optional<int64_t> withdrawn,
                                                     uint64_t boot);

}  // namespace splitlet::config_source
