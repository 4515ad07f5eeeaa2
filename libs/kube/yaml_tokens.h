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

/// What an unquoted YAML 1.1 scalar means; a number is given as JSON writes it.
struct ResolvedScalar {
  Scalar::Kind kind = Scalar::Kind::kString;
  std::string text;
};
ResolvedScalar ResolveYamlScalar(std::string_view plain);

}  // namespace splitlet::kube
