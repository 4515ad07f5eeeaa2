#pragma once

/// Status and StatusOr: Abseil's, with gRPC's codes, and macros that add context. Debian's Abseil
/// has a string_view of its own; only this header knows it.
/// Threads: values, any.
/// Source: docs/libraries.md, "Abseil".

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace splitlet {

using Status = absl::Status;
template <class T>
using StatusOr = absl::StatusOr<T>;
using StatusCode = absl::StatusCode;

inline Status OkStatus() { return absl::OkStatus(); }

/// MakeStatus(StatusCode::kNotFound, "no pod {}", name).
inline Status MakeStatus(StatusCode code, std::string_view message) {
  return Status(code, absl::string_view(message.data(), message.size()));
}
template <class First, class... Rest>
Status MakeStatus(StatusCode code, fmt::format_string<First, Rest...> format, First&& first,
                  Rest&&... rest) {
  return MakeStatus(code, std::string_view(fmt::format(format, std::forward<First>(first),
                                                       std::forward<Rest>(rest)...)));
}

/// Each code in use has a function: InvalidArgument("{} is not in 1..65535", port).
#define SPLITLET_STATUS_MAKER(Name)                                                \
  inline Status Name(std::string_view message) {                                   \
    return MakeStatus(StatusCode::k##Name, message);                               \
  }                                                                                \
  template <class First, class... Rest>                                            \
  Status Name(fmt::format_string<First, Rest...> format, First&& f, Rest&&... r) { \
    return MakeStatus(StatusCode::k##Name, format, std::forward<First>(f),         \
                      std::forward<Rest>(r)...);                                   \
  }
SPLITLET_STATUS_MAKER(Aborted)
SPLITLET_STATUS_MAKER(AlreadyExists)
SPLITLET_STATUS_MAKER(Cancelled)
SPLITLET_STATUS_MAKER(DataLoss)
SPLITLET_STATUS_MAKER(DeadlineExceeded)
SPLITLET_STATUS_MAKER(FailedPrecondition)
SPLITLET_STATUS_MAKER(Internal)
SPLITLET_STATUS_MAKER(InvalidArgument)
SPLITLET_STATUS_MAKER(NotFound)
SPLITLET_STATUS_MAKER(OutOfRange)
SPLITLET_STATUS_MAKER(PermissionDenied)
SPLITLET_STATUS_MAKER(ResourceExhausted)
SPLITLET_STATUS_MAKER(Unauthenticated)
SPLITLET_STATUS_MAKER(Unavailable)
SPLITLET_STATUS_MAKER(Unimplemented)
SPLITLET_STATUS_MAKER(Unknown)
#undef SPLITLET_STATUS_MAKER

/// The message as a standard string; Abseil's own view converts to nothing.
inline std::string Message(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

/// "NOT_FOUND" for StatusCode::kNotFound; the names of gRPC.
std::string_view CodeName(StatusCode code);

/// For logs: "no pod default/web (NOT_FOUND)"; "OK".
std::string ToString(const Status& status);

/// Marks an expected error, such as a file that another process is still creating. The code that
/// marks it logs it; other code does not. The mark stays in this process and counts in `==`.
Status Awaited(Status error);
bool IsAwaited(const Status& status);

/// Puts "context: " before the message of an error, and keeps its code and the mark. Leaves success
/// unchanged.
Status Annotate(const Status& status, std::string_view context);
template <class T>
StatusOr<T> Annotate(StatusOr<T> value, std::string_view context) {
  if (value.ok()) return value;
  return Annotate(value.status(), context);
}

/// errno as a Status with the matching code: "no such file or directory".
Status ErrnoStatus(int error);

/// True for codes after which another attempt may succeed: unavailable, deadline exceeded, aborted,
/// resource exhausted.
bool IsRetryable(StatusCode code);

namespace status_internal {
inline const Status& GetStatus(const Status& status) { return status; }
template <class T>
const Status& GetStatus(const StatusOr<T>& value) {
  return value.status();
}
}  // namespace status_internal

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line,
                              std::string_view message);

}  // namespace splitlet

#define SPLITLET_CONCAT_INNER(a, b) a##b
#define SPLITLET_CONCAT(a, b) SPLITLET_CONCAT_INNER(a, b)

/// RETURN_IF_ERROR(Stop(id), "stop {}", id): the context is mandatory.
#define RETURN_IF_ERROR(expression, ...)                                                   \
  do {                                                                                     \
    const auto& splitlet_result = (expression);                                            \
    if (!splitlet_result.ok())                                                             \
      return ::splitlet::Annotate(::splitlet::status_internal::GetStatus(splitlet_result), \
                                  ::fmt::format(__VA_ARGS__));                             \
  } while (false)

/// ASSIGN_OR_RETURN(const auto pod, ReadPod(path), "read {}", path).
#define ASSIGN_OR_RETURN(declaration, expression, ...)                                        \
  SPLITLET_ASSIGN_OR_RETURN(SPLITLET_CONCAT(splitlet_or_, __LINE__), declaration, expression, \
                            __VA_ARGS__)
#define SPLITLET_ASSIGN_OR_RETURN(temporary, declaration, expression, ...)       \
  auto temporary = (expression);                                                 \
  if (!temporary.ok())                                                           \
    return ::splitlet::Annotate(temporary.status(), ::fmt::format(__VA_ARGS__)); \
  declaration = std::move(temporary).value()

/// An invariant of our own code, also in release: CHECK(loop_.IsCurrent()); CHECK(n > 0, "n is {}",
/// n).
#define CHECK(condition, ...)                                                     \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::splitlet::CheckFailed(#condition, __FILE__,                               \
                              __LINE__ __VA_OPT__(, ::fmt::format(__VA_ARGS__))); \
  } while (false)

/// For the end of a function whose switch covers all enumerators.
#define UNREACHABLE() ::splitlet::CheckFailed("unreachable", __FILE__, __LINE__)

/// Status in fmt and in logs.
template <>
struct fmt::formatter<absl::Status> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const absl::Status& status, Context& context) const {
    return fmt::formatter<std::string>::format(splitlet::ToString(status), context);
  }
};
