#include "services/node-api/node_api_service.h"

#include <utility>

#include "libs/daemon/metrics.h"

namespace splitlet::node_api {
namespace {

EndpointDeps PartsOf(NodeApiDeps& deps, PodViews& pods) {
  return {.clock = deps.clock,
          .loop = deps.loop,
          .strands = deps.strands,
          .log_strands = deps.log_strands,
          .files = deps.files,
          .log = deps.log,
          .pods = pods,
          .log_files = deps.log_files,
          .container_files = deps.container_files,
          .watch_log = deps.watch_log,
          .pod_calls = deps.pod_calls,
          .stats = deps.stats,
          .processes = deps.processes,
          .levels = deps.levels,
          .process_names = deps.process_names,
          .own_metrics = [&registry = deps.metrics] { return daemon::Scrape(registry); },
          .ask_sync_loop = deps.ask_sync_loop,
          .machine = deps.machine,
          .run_program = deps.run_program,
          .read_within = deps.read_within,
          .hold_below = deps.hold_below};
}

}  // namespace

NodeApiService::NodeApiService(NodeApiDeps deps, NodeApiConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics),
      pods_(std::move(deps_.views)),
      endpoints_(PartsOf(deps_, pods_), config_),
      filter_({.clock = deps_.clock,
               .loop = deps_.loop,
               .strands = deps_.strands,
               .log = deps_.log,
               .metrics = metrics_,
               .reviewer = deps_.reviewer,
               .secret = deps_.secret,
               .serve = [this](RoutedRequest asked) { endpoints_.Serve(std::move(asked)); }},
              config_),
      listeners_({.clock = deps_.clock,
                  .loop = deps_.loop,
                  .strands = deps_.strands,
                  .files = deps_.files,
                  .log = deps_.log,
                  .metrics = metrics_,
                  .start_server = deps_.start_server,
                  .on_request =
                      [this](Surface surface, https::Request request,
                             std::shared_ptr<https::Responder> responder) {
                        OnRequest(surface, std::move(request), std::move(responder));
                      }},
                 config_) {
  metrics_.ShowGates(config_.gates);
}

void NodeApiService::Start() {
  if (!config_.has_api_server && config_.server.enabled && config_.server.webhook_authentication)
    deps_.log.Info("Standalone mode, no API client: all tokens are refused");
  if (config_.server.enabled && config_.server.anonymous &&
      config_.server.authorization == "AlwaysAllow")
    deps_.log.Warn("every client that reaches the port may run commands in every pod",
                   {KV("port", config_.server.port), KV("authentication.anonymous.enabled", true),
                    KV("authorization.mode", config_.server.authorization)});
  endpoints_.Start();
  listeners_.Start();
}

daemon::Health NodeApiService::GetHealth() const {
  if (const std::string problem = listeners_.problem(); !problem.empty()) return {false, problem};
  if (const std::string problem = pods_.problem(); !problem.empty()) return {false, problem};
  return {};
}

}  // namespace splitlet::node_api
