#pragma once

/// Text in double quotes, as Go's verb %q writes it.
/// Threads: any.
/// Errors:  none; a byte that is no UTF-8 is written as \xNN.
/// Source:  Go's strconv.Quote and strconv.IsPrint, with Unicode 15.0, as in RE2 of Debian 12.

#include <string>
#include <string_view>

namespace splitlet::pod_worker {

/// "a\tb": escapes quotes, backslashes and every character that is no letter, mark, number,
/// punctuation, symbol or ASCII blank: \n and the like, \x07, \u200b, \U000e0001.
std::string GoQuoted(std::string_view text);

}  // namespace splitlet::pod_worker
