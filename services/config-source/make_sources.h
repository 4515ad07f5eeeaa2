#pragma once

/// Makes the sources that are configured.
/// Threads: on the loop thread, before the service starts.
/// Errors: none; a source reports its own.
/// Source: docs/behaviour/config-sources.md, "Sources".

#include <cstdint>
#include <memory>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/apiclient/waiting.h"
#include "libs/exec/env.h"
#include "libs/fs/file_watcher.h"
#include "services/config-source/config.h"
#include "services/config-source/metrics.h"
#include "services/config-source/sources/http/http_fetcher.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

struct SourceParts {
  exec::Env env;
  fs::FileSystem& files;
  std::unique_ptr<fs::FileWatcher> watcher;   // for the source `file`
  std::unique_ptr<HttpFetcher> fetcher;       // for the source `http`
  std::unique_ptr<apiclient::Transport> api;  // for the source `api`; null: no API server
  std::shared_ptr<ConfigMetrics> metrics;
  uint64_t seed = 1;                        // of jitter
  apiclient::WaitUntil api_wait = nullptr;  // waits for the server; not set: on the real clock
};

std::vector<std::unique_ptr<Source>> MakeSources(SourceParts parts,
                                                 const ConfigSourceConfig& config);

}  // namespace splitlet::config_source
