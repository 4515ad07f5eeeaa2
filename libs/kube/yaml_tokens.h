#pragma once

/// YAML, or whichever of both a document is, as tokens. Threads, errors and limits: those of
/// tokens.h.

#include <memory>
#include <string>
#include <string_view>

#include "libs/kube/tokens.h"

namespace splitlet::kube {

/// JSON when the first character that is not blank is '{', else YAML 1.1, of which only the first
/// document counts. `text` outlives the source.
StatusOr<std::unique_ptr<TokenSource>> OpenTokens(std::string_view text);

/// `text` outlives the source.
StatusOr<std::unique_ptr<TokenSource>> OpenYaml(std::string_view text);

/// What an unquoted YAML 1.1 scalar means. A number is given as JSON writes it, or as ".inf",
/// "-.inf" or ".nan", which JSON cannot write; one that is too large for a double is a string.
struct ResolvedScalar {
  enum class Number { kNone, kWhole, kReal, kNotFinite };
  Scalar::Kind kind = Scalar::Kind::kString;
  std::string text;
  Number number = Number::kNone;
};
ResolvedScalar ResolveYamlScalar(std::string_view plain);

}  // namespace splitlet::kube
