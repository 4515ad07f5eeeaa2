#include "services/node-api/endpoints.h"

#include <utility>

#include "libs/base/random.h"
#include "libs/kube/kubelet_version.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/http/url.h"
#include "services/node-api/logs/log_choice.h"
#include "services/node-api/logs/log_query.h"
#include "services/node-api/logs/node_logs.h"
#include "services/node-api/metrics/resource.h"
#include "services/node-api/pods/pod_list.h"
#include "services/node-api/stats/summary.h"

namespace splitlet::node_api {
namespace {

constexpr const char* kNotFound = "404: Page Not Found";
constexpr const char* kOwnName = "node-api";

std::vector<std::string> WithSelf(std::vector<std::string> others) {
  others.emplace_back(kOwnName);
  return others;
}

bool IsProbe(std::string_view family) {
  return family == "prober_probe_total" || family == "prober_probe_duration_seconds";
}

}  // namespace

Endpoints::Endpoints(EndpointDeps deps, const NodeApiConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      health_({.clock = deps_.clock,
               .loop = deps_.loop,
               .strands = deps_.strands,
               .log = deps_.log,
               .ask_sync_loop = deps_.ask_sync_loop},
              config.sync_loop_limit),
      log_streams_({.loop = deps_.loop,
                    .strands = deps_.log_strands,
                    .files = deps_.log_files,
                    .container_files = deps_.container_files,
                    .watch = deps_.watch_log}),
      pod_streams_({.clock = deps_.clock,
                    .loop = deps_.loop,
                    .strands = deps_.strands,
                    .pods = deps_.pods,
                    .calls = deps_.pod_calls}),
      checkpoints_({.clock = deps_.clock,
                    .loop = deps_.loop,
                    .strands = deps_.strands,
                    .pods = deps_.pods,
                    .calls = deps_.pod_calls,
                    .start_id = RandomSeed()}),
      stats_({.clock = deps_.clock,
              .loop = deps_.loop,
              .strands = deps_.strands,
              .source = deps_.stats}),
      details_({.clock = deps_.clock,
                .loop = deps_.loop,
                .strands = deps_.strands,
                .source = deps_.stats,
                .details = true}),
      gather_({.clock = deps_.clock,
               .loop = deps_.loop,
               .strands = deps_.strands,
               .source = deps_.processes,
               .processes = deps_.process_names,
               .own = deps_.own_metrics,
               .own_name = kOwnName}),
      log_levels_({.clock = deps_.clock,
                   .loop = deps_.loop,
                   .strands = deps_.strands,
                   .target = deps_.levels,
                   .processes = WithSelf(deps_.process_names)}),
      zpages_({.started_at = deps_.clock.WallNow(),
               .version = std::string(kube::kKubeletVersionNumber),
               .flags = config.flags,
               .paths = PathsOf(config.handlers)},
              RandomSeed()),
      asker_(deps_.loop, deps_.strands) {}

void Endpoints::Start() {
  health_.Start();
  stats_.Start();
  deps_.pods.OnRuntime([this] { log_streams_.OnRuntime(deps_.pods); });
}

void Endpoints::Serve(RoutedRequest asked) {
  switch (asked.route) {
    case Route::kHealthz:
      return asked.responder->Send(
          health_.Answer(asked.path, Query(asked.request.query), asked.surface));
    case Route::kPods: return ServePods(asked);
    case Route::kRunningPods: return ServeRunningPods(asked);
    case Route::kStats: return ServeSummary(asked);
    case Route::kMetrics:
    case Route::kProbes: return ServeMetrics(asked);
    case Route::kCadvisor:
    case Route::kResource: return ServeStats(asked);
    case Route::kSlis: return ServeSlis(asked);
    case Route::kContainerLogs: return ServeContainerLog(asked);
    case Route::kLogs: return ServeNodeLog(asked);
    case Route::kRun:
    case Route::kExec:
    case Route::kAttach:
    case Route::kPortForward:
      return pod_streams_.Serve({.route = asked.route,
                                 .path = std::move(asked.path),
                                 .user = std::move(asked.user),
                                 .request = std::move(asked.request),
                                 .responder = std::move(asked.responder)});
    case Route::kConfigz: {
      https::Answer answer = JsonReply(config_.configz);
      answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
      return asked.responder->Send(std::move(answer));
    }
    case Route::kFlagz: return asked.responder->Send(zpages_.Flagz(asked.request.Header("Accept")));
    case Route::kStatusz:
      return asked.responder->Send(
          zpages_.Statusz(asked.request.Header("Accept"), deps_.clock.WallNow()));
    case Route::kCheckpoint:
      return checkpoints_.Serve(asked.path, asked.request, std::move(asked.responder));
    case Route::kDebugFlags: return log_levels_.Serve(asked.request, std::move(asked.responder));
    case Route::kProfile: return asked.responder->Send(TextReply(404, kNotFound));
  }
}

void Endpoints::ServePods(const RoutedRequest& asked) {
  if (const std::string problem = deps_.pods.problem(); !problem.empty())
    return asked.responder->Send(TextReply(500, problem));
  deps_.strands.Run("pods", [pods = deps_.pods.All(), responder = asked.responder] {
    responder->Send(JsonReply(PodListJson(pods)));
  });
}

void Endpoints::ServeRunningPods(const RoutedRequest& asked) {
  if (asked.path != "/runningpods/") return asked.responder->Send(TextReply(404, kNotFound));
  if (const std::string problem = deps_.pods.problem(); !problem.empty())
    return asked.responder->Send(TextReply(500, problem));
  asked.responder->Send(JsonReply(RunningPodsJson(deps_.pods.Runtime())));
}

void Endpoints::ServeContainerLog(const RoutedRequest& asked) {
  const auto steps = StepsOf(asked.path);
  if (steps.size() != 4) return asked.responder->Send(TextReply(404, kNotFound));
  const LogQuery query = ReadLogQuery(Query(asked.request.query), deps_.clock.WallNow());
  if (query.refusal) return asked.responder->Send(*query.refusal);
  const auto seen = deps_.pods.Find(steps[1], steps[2]);
  if (!seen.ok())
    return asked.responder->Send(
        TextReply(404, fmt::format("pod \"{}\" does not exist", steps[2])));
  const LogChoice choice = ChooseLog(
      *seen, {.container = steps[3], .previous = query.previous, .logs_dir = config_.pod_logs_dir});
  if (choice.refusal) return asked.responder->Send(*choice.refusal);
  log_streams_.ServeLog({.path = choice.path,
                         .options = query.options,
                         .uid = seen->desired->uid(),
                         .container_id = choice.container_id,
                         .running = choice.running},
                        asked.responder);
}

void Endpoints::ServeNodeLog(const RoutedRequest& asked) {
  struct Read {
    NodeLogAsked query;
    NodeLog found;  // unless it is a query
  };
  asker_.Ask(
      "node-log",
      [&files = deps_.files, hold = deps_.hold_below, folder = config_.node_logs_dir,
       queries = config_.server.system_log_query, path = asked.path, text = asked.request.query] {
        Read read;
        if (queries) read.query = ReadNodeLogQuery(Query(text));
        if (!read.query.refusal && !read.query.any)
          read.found = FindNodeLog(files, hold, folder, path);
        return read;
      },
      [this, responder = asked.responder](Read read) {
        if (read.query.refusal) return responder->Send(*std::move(read.query.refusal));
        if (read.query.any) return ServeNodeLogQuery(read.query.query, responder);
        if (read.found.answer) return responder->Send(*std::move(read.found.answer));
        log_streams_.ServeFile(read.found.file, responder);
      });
}

void Endpoints::ServeNodeLogQuery(const NodeLogQuery& query,
                                  std::shared_ptr<https::Responder> responder) {
  if (log_queries_ >= kMaxLogQueries)
    return responder->Send(TextReply(429, "too many queries of this node's logs"));
  ++log_queries_;
  // Each query has its own key, so that none waits for another.
  asker_.Ask(
      fmt::format("node-log-query/{}", ++last_log_query_),
      [from = NodeLogSources{deps_.run_program, deps_.read_within, config_.node_logs_dir}, query,
       responder = std::move(responder)] { responder->Send(RunNodeLogQuery(from, query)); },
      [this] { --log_queries_; });
}

void Endpoints::ServeSummary(const RoutedRequest& asked) {
  if (asked.path != "/stats/summary") return asked.responder->Send(TextReply(404, kNotFound));
  const Query query(asked.request.method == "POST" && asked.request.query.empty()
                        ? asked.request.body
                        : asked.request.query);
  const bool reduced = query.Get("only_cpu_and_memory") == "true";
  stats_.Get([this, reduced, responder = asked.responder](const auto& stats) {
    if (!stats.ok())
      return responder->Send(TextReply(500, "Internal Error: " + Message(stats.status())));
    responder->Send(
        JsonReply(SummaryJson(**stats, UseOfPods(**stats, deps_.pods.Runtime()),
                              {.node_name = config_.node_name, .only_cpu_and_memory = reduced})));
  });
}

void Endpoints::ServeMetrics(const RoutedRequest& asked) {
  const bool probes = asked.route == Route::kProbes;
  auto& askers = metrics_askers_[probes];
  askers.push_back(asked.responder);
  if (askers.size() > 1) return;  // the gathering in progress answers this request too
  gather_.Get([this, probes](const std::vector<Scraped>& scraped) {
    deps_.strands.Run("merge", [merger = merger_, scraped, probes,
                                all = std::exchange(metrics_askers_[probes], {})] {
      https::Answer answer = MetricsReply("");
      answer.shared_body = std::make_shared<const std::string>(
          merger->Merge(scraped, [probes](std::string_view family) {
            if (!probes) return !IsProbe(family);
            return IsProbe(family) || family == "process_start_time_seconds";
          }));
      for (const auto& responder : all) responder->Send(answer);
    });
  });
}

void Endpoints::ServeStats(const RoutedRequest& asked) {
  const bool resource = asked.route == Route::kResource;
  StatsCache& cache = resource ? stats_ : details_;
  cache.Get([this, resource, responder = asked.responder](const auto& stats) {
    if (!stats.ok())
      return responder->Send(resource ? MetricsReply(ResourceError())
                                      : TextReply(500, Message(stats.status())));
    const auto pods = UseOfPods(**stats, deps_.pods.Runtime());
    responder->Send(MetricsReply(resource ? ResourceMetrics(**stats, pods)
                                          : CadvisorMetrics(**stats, pods, deps_.machine)));
  });
}

void Endpoints::ServeSlis(const RoutedRequest& asked) {
  if (asked.request.method == "DELETE") {
    health_.ResetMetrics();
    return asked.responder->Send(TextReply(200, "metrics reset"));
  }
  asked.responder->Send(
      MetricsReply(health_.Metrics() +
                   MergeMetrics({{kOwnName, deps_.own_metrics()}}, [](std::string_view family) {
                     return family == "process_start_time_seconds";
                   })));
}

}  // namespace splitlet::node_api
