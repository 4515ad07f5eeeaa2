#pragma once

/// Splits YAML, or a document in either format, into tokens. Threads, errors and limits: those of
/// tokens.h.

#include <memory>
#include <string>
#include <string_view>

#include "libs/kube/tokens.h"

namespace splitlet::kube {

/// JSON if the first character that is not blank is '{', else YAML 1.1; only the first YAML
/// document is read. `text` outlives the source.
StatusOr<std::unique_ptr<TokenSource>> OpenTokens(std::string_view text);

/// `text` outlives the source.
StatusOr<std::unique_ptr<TokenSource>> OpenYaml(std::string_view text);

/// Meaning of an unquoted YAML 1.1 scalar. A number has JSON's form, or is ".inf", "-.inf" or
/// ".nan", which JSON lacks; a number too large for a double is a string.
struct ResolvedScalar {
  enum class Number { kNone, kWhole, kReal, kNotFinite };
  Scalar::Kind kind = Scalar::Kind::kString;
  std::string text;
  Number number = Number::kNone;
};
ResolvedScalar ResolveYamlScalar(std::string_view plain);

}  // namespace splitlet::kube
