#pragma once

/// Label and field selectors as queries write them.
/// Threads: values, any.
/// Errors: INVALID_ARGUMENT of a selector that cannot be read, or of a field that the kind cannot
///         be selected by.
/// Source: Kubernetes API, "Labels and Selectors", "Field Selectors".

#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/fake_kinds.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

class Selector {
 public:
  static StatusOr<Selector> Parse(const Kind& kind, std::string_view labels,
                                  std::string_view fields);
  bool Matches(const google::protobuf::Message& object) const;

 private:
  struct Requirement {
    enum class Op { kIn, kNotIn, kExists, kAbsent } op = Op::kIn;
    std::string key;
    std::vector<std::string> values;
  };
  static StatusOr<Requirement> ParseLabel(std::string_view text);

  std::vector<Requirement> labels_, fields_;
};

}  // namespace splitlet::apiclient
