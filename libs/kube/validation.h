#pragma once

/// The API server's checks of a new pod, for static pods after defaulting. Pods of an API server
/// are checked there already (runnable.h). Any thread.
/// Errors: all violations, in the order of the fields.
/// Source: docs/behaviour/manifests.md, "Validation".

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

struct FieldError {
  std::string path;    // spec.containers[0].ports[1].hostPort
  std::string kind;    // "Required value", "Invalid value", "Duplicate value" and so on
  std::string value;   // as printed; empty for kinds that print no value
  std::string detail;  // may be empty
  /// Formats "<path>: <kind>[: <value>][: <detail>]".
  std::string ToString() const;
};

/// Collects violations; `path` is that of the field.
class FieldErrors {
 public:
  void Required(std::string path, std::string detail = {});
  void Invalid(std::string path, std::string_view value, std::string detail);
  void Invalid(std::string path, int64_t value, std::string detail);
  void Duplicate(std::string path, std::string_view value);
  void Unsupported(std::string path, std::string_view value,
                   const std::vector<std::string_view>& supported);
  void Forbidden(std::string path, std::string detail);
  void NotFound(std::string path, std::string_view value);
  void TooLong(std::string path, size_t limit);
  void TooMany(std::string path, size_t count, size_t limit);
  /// Adds Invalid if `problem`, the result of a function of names.h, is not empty.
  void Check(const std::string& path, std::string_view value, const std::string& problem);

  bool empty() const { return errors_.empty(); }
  std::vector<FieldError> Take() { return std::move(errors_); }

 private:
  std::vector<FieldError> errors_;
};

/// Empty for a valid pod.
std::vector<FieldError> ValidatePod(const Pod& pod);

/// Returns "invalid pod: [<e1> <e2>]"; OK without errors.
Status ToStatus(const std::vector<FieldError>& errors);

}  // namespace splitlet::kube
