#pragma once

/// One GET of a URL. CurlFetcher is in curl_fetcher.h, FakeHttpFetcher in fake_http_fetcher.h.
/// Threads: one call at a time; it blocks until answer or deadline.
/// Errors: UNAVAILABLE, DEADLINE_EXCEEDED from the transport; RESOURCE_EXHAUSTED for a body that is
/// too long. A status other than 200 is an answer and no error.
/// Source: docs/behaviour/config-sources.md, "URL".

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/http/http.h"

namespace splitlet::config_source {

struct HttpRequest {
  std::string url;
  std::map<std::string, std::vector<std::string>> headers;  // every value is sent
  uint64_t max_bytes = 0;                                   // reaching it is an error
};

using HttpReply = http::Answer;

class HttpFetcher {
 public:
  virtual ~HttpFetcher() = default;
  /// Follows up to 10 redirects.
  virtual StatusOr<HttpReply> Get(const HttpRequest& request, Deadline deadline) = 0;
};

}  // namespace splitlet::config_source
