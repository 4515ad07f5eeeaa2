#pragma once

/// Splits JSON into tokens. Threads, errors and limits: those of tokens.h.

#include <memory>
#include <string_view>

#include "libs/kube/tokens.h"

namespace splitlet::kube {

/// `text` outlives the source.
std::unique_ptr<TokenSource> OpenJson(std::string_view text);

}  // namespace splitlet::kube
