#include "libs/csi/call_errors.h"

namespace splitlet::csi {

ErrorClass ClassOf(StatusCode code) {
  const bool uncertain = code == StatusCode::kCancelled || code == StatusCode::kDeadlineExceeded ||
                         code == StatusCode::kUnavailable ||
                         code == StatusCode::kResourceExhausted || code == StatusCode::kAborted;
  return uncertain ? ErrorClass::kUncertain : ErrorClass::kFinal;
}

std::string_view GoCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kCancelled: return "Canceled";
    case StatusCode::kUnknown: return "Unknown";
    case StatusCode::kInvalidArgument: return "InvalidArgument";
    case StatusCode::kDeadlineExceeded: return "DeadlineExceeded";
    case StatusCode::kNotFound: return "NotFound";
    case StatusCode::kAlreadyExists: return "AlreadyExists";
    case StatusCode::kPermissionDenied: return "PermissionDenied";
    case StatusCode::kResourceExhausted: return "ResourceExhausted";
    case StatusCode::kFailedPrecondition: return "FailedPrecondition";
    case StatusCode::kAborted: return "Aborted";
    case StatusCode::kOutOfRange: return "OutOfRange";
    case StatusCode::kUnimplemented: return "Unimplemented";
    case StatusCode::kInternal: return "Internal";
    case StatusCode::kUnavailable: return "Unavailable";
    case StatusCode::kDataLoss: return "DataLoss";
    case StatusCode::kUnauthenticated: return "Unauthenticated";
    case StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_: break;
  }
  return "Unknown";
}

ExpandResult ComputeExpandResult(StatusCode code, ErrorClass error_class, bool other_size_wanted) {
  if (code == StatusCode::kOk) return ExpandResult::kDone;
  if (error_class != ErrorClass::kFinal) return ExpandResult::kRetry;
  const bool refused = code == StatusCode::kInvalidArgument || code == StatusCode::kOutOfRange ||
                       code == StatusCode::kNotFound;
  if (refused || other_size_wanted) return ExpandResult::kInfeasible;
  return code == StatusCode::kFailedPrecondition ? ExpandResult::kInUse : ExpandResult::kFailed;
}

}  // namespace splitlet::csi
