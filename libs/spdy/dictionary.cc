#include "libs/spdy/dictionary.h"

#include <string_view>

#include "libs/spdy/frames.h"

namespace splitlet::spdy {
namespace {

/// In the dictionary each word follows its length.
constexpr std::string_view kWords[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};

constexpr std::string_view kText =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information"
    "204 No Content"
    "301 Moved Permanently"
    "400 Bad Request"
    "401 Unauthorized"
    "403 Forbidden"
    "404 Not Found"
    "500 Internal Server Error"
    "501 Not Implemented"
    "503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, "
    "GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,"
    "text/plain,text/javascript,public"
    "privatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

}  // namespace

const std::string& HeaderDictionary() {
  static const std::string dictionary = [] {
    std::string made;
    for (const std::string_view word : kWords) {
      AppendNumber(made, static_cast<uint32_t>(word.size()));
      made.append(word);
    }
    return made.append(kText);
  }();
  return dictionary;
}

}  // namespace splitlet::spdy
