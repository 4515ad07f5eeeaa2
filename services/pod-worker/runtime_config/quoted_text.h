#pragma once

/// Text in double quotes, as Go's verb %q writes it.
/// Threads: any.
/// Errors:  none; a byte that is not UTF-8 becomes \xNN.
/// Source:  Go's strconv.Quote and strconv.IsPrint, with Unicode 15.0, as in RE2 of Debian 12.

#include <string>
#include <string_view>

namespace splitlet::pod_worker {

/// Escapes quotes, backslashes and every character other than letters, marks, numbers, punctuation,
/// symbols and the ASCII blank. Escapes are \n and the like, \x07, \u200b, \U000e0001.
std::string GoQuoted(std::string_view text);

}  // namespace splitlet::pod_worker
