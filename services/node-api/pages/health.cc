#include "services/node-api/pages/health.h"

#include <algorithm>

#include "services/node-api/http/replies.h"

namespace splitlet::node_api {

HealthChecks::HealthChecks(Deps deps, Duration sync_loop_limit)
    : deps_(deps),
      limit_(sync_loop_limit),
      sync_loop_well_(deps_.clock.Now()),
      timer_(deps_.loop, kPeriod, [this] { AskSyncLoop(); }) {}

void HealthChecks::Start() { AskSyncLoop(); }

void HealthChecks::AskSyncLoop() {
  if (std::exchange(asking_, true)) return;
  deps_.strands.Run("health", [this] {
    const Status well = deps_.ask_sync_loop(After(deps_.clock, kAskLimit));
    deps_.loop.Post([this, well] {
      asking_ = false;
      sync_loop_trouble_ = Message(well);
      if (well.ok()) sync_loop_well_ = deps_.clock.Now();
    });
  });
}

/// Logs of this process are written by a thread of their own, so they never stand still. Nobody
/// serves device plugins here who could fail.
std::vector<HealthChecks::Part> HealthChecks::Look() const {
  const Duration silent = deps_.clock.Now() - sync_loop_well_;
  std::string sync_loop;
  if (silent > limit_)
    sync_loop = fmt::format("sync Loop took longer than expected: {}s without a sign of it: {}",
                            std::chrono::duration_cast<std::chrono::seconds>(silent).count(),
                            sync_loop_trouble_);
  return {{"ping", ""}, {"log", ""}, {"syncloop", sync_loop}, {"device-plugin", ""}};
}

https::Answer HealthChecks::Answer(const std::string& path, const Query& query, Surface surface) {
  auto parts = Look();
  if (surface == Surface::kHealthz) parts.resize(1);
  const auto steps = StepsOf(path);
  if (steps.size() <= 1) return AnswerAll(parts, query);
  const auto part = std::ranges::find(parts, steps[1], &Part::name);
  if (steps.size() > 2 || part == parts.end()) return TextReply(404, "404 page not found");
  if (!part->trouble.empty()) return TextReply(500, "internal server error: " + part->trouble);
  https::Answer well = TextReply(200, "ok");
  well.body = "ok";
  return well;
}

https::Answer HealthChecks::AnswerAll(const std::vector<Part>& parts, const Query& query) {
  auto excluded = query.All("exclude");
  std::string lines;
  bool well = true;
  for (const Part& part : parts) {
    last_[part.name] = part.trouble.empty();
    ++(part.trouble.empty() ? told_[part.name].first : told_[part.name].second);
    if (std::erase(excluded, part.name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", part.name);
    } else if (part.trouble.empty()) {
      lines += fmt::format("[+]{} ok\n", part.name);
    } else {
      well = false;
      lines += fmt::format("[-]{} failed: reason withheld\n", part.name);
      deps_.log.Debug("a part of healthz is not well",
                      {KV("part", part.name), KV("err", part.trouble)});
    }
  }
  for (const auto& name : excluded)
    lines +=
        fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n", name);
  if (!well) return TextReply(500, lines + "healthz check failed");
  https::Answer answer = TextReply(200, lines + "healthz check passed");
  if (!query.Has("verbose")) answer.body = "ok";
  return answer;
}

void HealthChecks::ResetMetrics() {
  told_.clear();
  last_.clear();
}

std::string HealthChecks::Metrics() const {
  std::string text =
      "# HELP kubernetes_healthcheck Result of the last check: 1 or 0\n"
      "# TYPE kubernetes_healthcheck gauge\n";
  for (const auto& [name, well] : last_)
    text += fmt::format("kubernetes_healthcheck{{name=\"{}\",type=\"healthz\"}} {}\n", name,
                        well ? 1 : 0);
  text +=
      "# HELP kubernetes_healthchecks_total Results of all checks\n"
      "# TYPE kubernetes_healthchecks_total counter\n";
  for (const auto& [name, counts] : told_)
    for (const auto& [status, count] :
         {std::pair{"error", counts.second}, std::pair{"success", counts.first}})
      if (count > 0)
        text += fmt::format(
            "kubernetes_healthchecks_total{{name=\"{}\",status=\"{}\",type=\"healthz\"}} {}\n",
            name, status, count);
  return text;
}

}  // namespace splitlet::node_api
