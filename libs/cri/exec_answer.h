#pragma once

/// What a runtime answers to ExecSync, read from the wire: a pod decides how long it is, so nothing
/// of it is copied but what is kept.
/// Threads: any.
/// Errors:  INTERNAL: it is no such answer.
/// Source:  CRI v1, ExecSyncResponse.

#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace splitlet::cri {

StatusOr<ExecResult> ReadExecAnswer(google::protobuf::io::ZeroCopyInputStream& message,
                                    const OutputLimit& keep);

}  // namespace splitlet::cri
