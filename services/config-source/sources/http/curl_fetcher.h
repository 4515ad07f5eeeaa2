#pragma once

/// HttpFetcher over libcurl, with the system's TLS roots.
/// Threads: one call at a time.
/// Errors: see http_fetcher.h.

#include <memory>

#include "services/config-source/sources/http/http_fetcher.h"

namespace splitlet::config_source {

/// `clock`: for the rest of a deadline.
std::unique_ptr<HttpFetcher> MakeCurlFetcher(const Clock& clock);

}  // namespace splitlet::config_source
