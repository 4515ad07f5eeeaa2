#pragma once

/// Reads a runtime's answer to ExecSync from the wire. The pod decides its length, so only the part
/// to keep is copied.
/// Threads: any.
/// Errors:  INTERNAL: malformed answer.
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
