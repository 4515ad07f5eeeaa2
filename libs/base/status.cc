#include "libs/base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace splitlet {
namespace {

constexpr const char* kAwaited = "splitlet/awaited";

}  // namespace

std::string_view CodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kCancelled: return "CANCELLED";
    case StatusCode::kUnknown: return "UNKNOWN";
    case StatusCode::kInvalidArgument: return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound: return "NOT_FOUND";
    case StatusCode::kAlreadyExists: return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied: return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition: return "FAILED_PRECONDITION";
    case StatusCode::kAborted: return "ABORTED";
    case StatusCode::kOutOfRange: return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented: return "UNIMPLEMENTED";
    case StatusCode::kInternal: return "INTERNAL";
    case StatusCode::kUnavailable: return "UNAVAILABLE";
    case StatusCode::kDataLoss: return "DATA_LOSS";
    case StatusCode::kUnauthenticated: return "UNAUTHENTICATED";
    case StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_:
      return "UNKNOWN";
  }
  return "UNKNOWN";  // a code of a newer peer
}

std::string ToString(const Status& status) {
  if (status.ok()) return "OK";
  if (status.code() == StatusCode::kUnknown) return Message(status);  // the code says nothing more
  return fmt::format("{} ({})", Message(status), CodeName(status.code()));
}

Status Awaited(Status error) {
  error.SetPayload(kAwaited, absl::Cord());
  return error;
}

bool IsAwaited(const Status& status) { return status.GetPayload(kAwaited).has_value(); }

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  Status annotated = MakeStatus(status.code(), "{}: {}", context, Message(status));
  return IsAwaited(status) ? Awaited(std::move(annotated)) : annotated;
}

Status ErrnoStatus(int error) {
  const std::string text = std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR: return NotFound(text);
    case EEXIST: return AlreadyExists(text);
    case EACCES:
    case EPERM:
    case EROFS: return PermissionDenied(text);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return ResourceExhausted(text);
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: return InvalidArgument(text);
    case EAGAIN:
    case EINTR:
    case ECONNREFUSED:
    case ECONNRESET: return Unavailable(text);
    case ETIMEDOUT: return DeadlineExceeded(text);
    case EBUSY:
    case EISDIR:
    case ENOTEMPTY: return FailedPrecondition(text);
    case EIO: return DataLoss(text);
    default: return Unknown(text);
  }
}

bool IsRetryable(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kAborted || code == StatusCode::kResourceExhausted;
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

void CheckFailed(const char* condition, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace splitlet
