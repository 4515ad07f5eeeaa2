#pragma once

/// How a failed operation leaves the volume, by the code of its error.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet csi_client isFinalError; docs/design.md, "The calls".

#include <string_view>

#include "libs/base/status.h"

namespace splitlet::csi {

enum class ErrorClass {
  kFinal,      // the driver refused: the volume is as it was before the call
  kUncertain,  // the call may have had its effect
  kTransient,  // no request reached the driver
};

/// The class of an error that the driver, or the connection to it, answered.
ErrorClass ClassOf(StatusCode code);

/// "DeadlineExceeded": the code as Go's gRPC prints it, for the label of a metric.
std::string_view GoCodeName(StatusCode code);

/// The end of a NodeExpandVolume.
enum class ExpandResult {
  kDone,
  kRetry,       // uncertain, or not sent
  kFailed,      // tried again; the claim shows the error
  kInfeasible,  // no further try until the controller changes the claim
  kInUse,       // no further try until the volume is mounted again
};
/// `other_size_wanted`: the claim asks for another size than the failed one, and a final error came
/// before.
ExpandResult ComputeExpandResult(StatusCode code, ErrorClass error_class, bool other_size_wanted);

}  // namespace splitlet::csi
