#include "services/node-api/pages/health.h"

#include <algorithm>

#include "services/node-api/http/replies.h"

namespace splitlet::node_api {

HealthChecks::HealthChecks(Deps deps, Duration sync_loop_limit)
    : deps_(deps),
      limit_(sync_loop_limit),
      sync_loop_healthy_at_(deps_.clock.Now()),
      timer_(deps_.loop, kPeriod, [this] { AskSyncLoop(); }),
      asker_(deps_.loop, deps_.strands) {}

void HealthChecks::Start() { AskSyncLoop(); }

void HealthChecks::AskSyncLoop() {
  if (std::exchange(asking_, true)) return;
  asker_.Ask(
      "health",
      [ask = deps_.ask_sync_loop, deadline = After(deps_.clock, kAskLimit)] {
        return ask(deadline);
      },
      [this](const Status& health) {
        asking_ = false;
        sync_loop_problem_ = Message(health);
        if (health.ok()) sync_loop_healthy_at_ = deps_.clock.Now();
      });
}

/// "log" always passes: a thread of its own writes the log. "device-plugin" always passes: this
/// process serves no device plugins.
std::vector<HealthChecks::Check> HealthChecks::RunChecks() const {
  const Duration silent = deps_.clock.Now() - sync_loop_healthy_at_;
  std::string sync_loop;
  if (silent > limit_)
    sync_loop = fmt::format("sync Loop took longer than expected: {}s without a healthy report: {}",
                            std::chrono::duration_cast<std::chrono::seconds>(silent).count(),
                            sync_loop_problem_);
  return {{"ping", ""}, {"log", ""}, {"syncloop", sync_loop}, {"device-plugin", ""}};
}

https::Answer HealthChecks::Answer(const std::string& path, const Query& query, Surface surface) {
  auto checks = RunChecks();
  if (surface == Surface::kHealthz) checks.resize(1);
  const auto steps = StepsOf(path);
  if (steps.size() <= 1) return AnswerAll(checks, query);
  const auto check = std::ranges::find(checks, steps[1], &Check::name);
  if (steps.size() > 2 || check == checks.end()) return TextReply(404, "404 page not found");
  if (!check->problem.empty()) return TextReply(500, "internal server error: " + check->problem);
  https::Answer passed = TextReply(200, "ok");
  passed.body = "ok";
  return passed;
}

https::Answer HealthChecks::AnswerAll(const std::vector<Check>& checks, const Query& query) {
  auto excluded = query.All("exclude");
  std::string lines;
  bool passed = true;
  for (const Check& check : checks) {
    last_[check.name] = check.problem.empty();
    ++(check.problem.empty() ? counts_[check.name].first : counts_[check.name].second);
    if (std::erase(excluded, check.name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (check.problem.empty()) {
      lines += fmt::format("[+]{} ok\n", check.name);
    } else {
      passed = false;
      lines += fmt::format("[-]{} failed: reason withheld\n", check.name);
      deps_.log.Debug("healthz check failed", {KV("check", check.name), KV("err", check.problem)});
    }
  }
  for (const auto& name : excluded)
    lines +=
        fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n", name);
  if (!passed) return TextReply(500, lines + "healthz check failed");
  https::Answer answer = TextReply(200, lines + "healthz check passed");
  if (!query.Has("verbose")) answer.body = "ok";
  return answer;
}

void HealthChecks::ResetMetrics() {
  counts_.clear();
  last_.clear();
}

std::string HealthChecks::Metrics() const {
  std::string text =
      "# HELP kubernetes_healthcheck Result of the last check: 1 passed, 0 failed\n"
      "# TYPE kubernetes_healthcheck gauge\n";
  for (const auto& [name, passed] : last_)
    text += fmt::format("kubernetes_healthcheck{{name=\"{}\",type=\"healthz\"}} {}\n", name,
                        passed ? 1 : 0);
  text +=
      "# HELP kubernetes_healthchecks_total Checks since the start, by result\n"
      "# TYPE kubernetes_healthchecks_total counter\n";
  for (const auto& [name, counts] : counts_)
    for (const auto& [status, count] :
         {std::pair{"error", counts.second}, std::pair{"success", counts.first}})
      if (count > 0)
        text += fmt::format(
            "kubernetes_healthchecks_total{{name=\"{}\",status=\"{}\",type=\"healthz\"}} {}\n",
            name, status, count);
  return text;
}

}  // namespace splitlet::node_api
