#include "services/config-source/make_sources.h"

#include <functional>
#include <string>
#include <utility>

#include "libs/apiclient/client_metrics.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/sources/api/api_source.h"
#include "services/config-source/sources/file/file_source.h"
#include "services/config-source/sources/http/http_source.h"

namespace splitlet::config_source {
namespace {

std::function<void(Duration)> ReadTimer(const std::shared_ptr<ConfigMetrics>& metrics,
                                        std::string_view source) {
  return [metrics, name = std::string(source)](Duration taken) {
    metrics->read_seconds.Add({{"source", name}}, kReadBuckets)
        .Observe(std::chrono::duration<double>(taken).count());
  };
}

std::function<void(bool)> WatchedGauge(const std::shared_ptr<ConfigMetrics>& metrics,
                                       std::string_view source) {
  return [metrics, name = std::string(source)](bool watched) {
    metrics->watched.Add({{"source", name}}).Set(watched ? 1 : 0);
  };
}

std::unique_ptr<Source> MakeFileSource(SourceParts& parts, const ConfigSourceConfig& config) {
  const auto decode = [has_objects = config.has_objects, off = config.gates_off](
                          std::string_view text, Origin origin) {
    origin.has_objects = has_objects;
    origin.gates_off = off;
    return DecodeManifest(text, origin);
  };
  return std::make_unique<FileSource>(
      FileSource::Deps{.env = parts.env,
                       .files = parts.files,
                       .watcher = std::move(parts.watcher),
                       .decode = decode,
                       .on_read_time = ReadTimer(parts.metrics, kube::kFileSource),
                       .on_watched = WatchedGauge(parts.metrics, kube::kFileSource)},
      FileSource::Options{.path = config.static_pod_path,
                          .node_name = config.node_name,
                          .period = config.file_check_frequency});
}

std::unique_ptr<Source> MakeHttpSource(SourceParts& parts, const ConfigSourceConfig& config) {
  return std::make_unique<HttpSource>(
      HttpSource::Deps{.env = parts.env,
                       .fetcher = std::move(parts.fetcher),
                       .on_read_time = ReadTimer(parts.metrics, kube::kHttpSource)},
      HttpSource::Options{.url = config.static_pod_url,
                          .headers = config.static_pod_url_header,
                          .node_name = config.node_name,
                          .period = config.http_check_frequency,
                          .has_objects = config.has_objects,
                          .gates_off = config.gates_off});
}

std::unique_ptr<Source> MakeApiSource(SourceParts& parts, const ConfigSourceConfig& config) {
  return std::make_unique<ApiSource>(
      ApiSource::Deps{.env = parts.env,
                      .transport = std::move(parts.api),
                      .metrics = std::make_shared<apiclient::ClientMetrics>(parts.env.metrics),
                      .on_watched = WatchedGauge(parts.metrics, kube::kApiSource),
                      .seed = parts.seed,
                      .wait = parts.api_wait},
      ApiSource::Options{.node_name = config.node_name,
                         .place = config.kubeconfig,
                         .content = config.api_content,
                         .offline_start = config.offline_start,
                         .gates_off = config.gates_off});
}

}  // namespace

std::vector<std::unique_ptr<Source>> MakeSources(SourceParts parts,
                                                 const ConfigSourceConfig& config) {
  std::vector<std::unique_ptr<Source>> sources;
  if (!config.static_pod_path.empty()) sources.push_back(MakeFileSource(parts, config));
  if (!config.static_pod_url.empty()) sources.push_back(MakeHttpSource(parts, config));
  if (parts.api != nullptr) sources.push_back(MakeApiSource(parts, config));
  return sources;
}

}  // namespace splitlet::config_source
