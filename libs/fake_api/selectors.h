#pragma once

/// Label and field selectors, in the grammar of queries.
/// Threads: values, any.
/// Errors: INVALID_ARGUMENT: malformed selector, or a field that the kind does not select by.
/// Source: Kubernetes API, "Labels and Selectors", "Field Selectors".

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/fake_api/kinds.h"

namespace splitlet::fake_api {

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

}  // namespace splitlet::fake_api
