#pragma once

/// Initial dictionary of header compression, so that the first headers are short too.
/// Threads: any.
/// Errors:  none.
/// Source:  SPDY/3.1, "Compression".

#include <string>

namespace splitlet::spdy {

const std::string& HeaderDictionary();

}  // namespace splitlet::spdy
