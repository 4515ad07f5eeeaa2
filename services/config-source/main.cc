#include "libs/base/random.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/api_server.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/fs/file_watcher.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/record_store.h"
#include "services/config-source/config.h"
#include "services/config-source/config_source_service.h"
#include "services/config-source/make_sources.h"
#include "services/config-source/rpc.h"
#include "services/config-source/sources/http/curl_fetcher.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

StatusOr<std::unique_ptr<daemon::Service>> MakeConfigSource(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(const auto config, LoadConfigSourceConfig(context.config(), context.flags()),
                   "configuration");
  ASSIGN_OR_RETURN(auto table, bus::Own<v1::DesiredRecord>(context.bus(), "desired"),
                   "table desired");
  ASSIGN_OR_RETURN(auto workers, bus::ViewOf<v1::WorkerRecord>(context.bus(), "workers"),
                   "view workers");
  ASSIGN_OR_RETURN(auto api, daemon::ConnectApi(context), "pods of the API server");
  const auto metrics = std::make_shared<ConfigMetrics>(context.env().metrics);
  auto sources = MakeSources({.env = context.env(),
                              .files = context.files(),
                              .watcher = fs::MakeInotifyWatcher(),
                              .fetcher = MakeCurlFetcher(context.clock()),
                              .api = std::move(api),
                              .metrics = metrics,
                              .seed = RandomSeed()},
                             config);
  return ServeConfigSource(context.loop(),
                           std::make_unique<ConfigSourceService>(ConfigSourceDeps{
                               .env = context.env(),
                               .metrics = metrics,
                               .records = std::make_shared<fs::RecordStore>(
                                   context.files(), context.clock(),
                                   fs::RecordStore::Options{.directory = config.records_directory}),
                               .sources = std::move(sources),
                               .table = std::move(table),
                               .workers = std::move(workers),
                               .events = context.events(),
                               .seed = RandomSeed()}));
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) {
  return daemon::RunService("config-source", argc, argv, MakeConfigSource);
}

}  // namespace splitlet::config_source
