#pragma once

/// /healthz: the health of this node agent, check by check.
/// In:    sync-loop's health, every 10 s.
/// Owns:  when sync-loop last reported healthy; counts of check results.
/// Out:   calls to sync-loop.
/// Killed at any line: the next start counts from 0.
/// Threads: loop thread; calls to sync-loop on a strand.
/// Errors: a failed check, with the reason.
/// Source: docs/behaviour/node-api.md, "healthz".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/https/server.h"
#include "services/node-api/http/routes.h"
#include "services/node-api/http/url.h"

namespace splitlet::node_api {

class HealthChecks {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    const Log& log;
    std::function<Status(const Deadline& deadline)> ask_sync_loop;  // called on a strand
  };
  static constexpr Duration kPeriod = std::chrono::seconds{10}, kAskLimit = std::chrono::seconds{5};

  HealthChecks(Deps deps, Duration sync_loop_limit);
  HealthChecks(const HealthChecks&) = delete;
  HealthChecks& operator=(const HealthChecks&) = delete;

  void Start();
  /// `path`: decoded, "/healthz" or below.
  https::Answer Answer(const std::string& path, const Query& query, Surface surface);
  /// kubernetes_healthcheck and kubernetes_healthchecks_total.
  std::string Metrics() const;
  /// Resets the counts to 0.
  void ResetMetrics();

 private:
  struct Check {
    std::string name, problem;  // problem: empty if the check passed
  };
  std::vector<Check> RunChecks() const;
  https::Answer AnswerAll(const std::vector<Check>& checks, const Query& query);
  void AskSyncLoop();

  Deps deps_;
  const Duration limit_;
  Clock::Time sync_loop_healthy_at_;
  bool asking_ = false;
  std::string sync_loop_problem_;
  // check -> number of passed and failed results
  std::map<std::string, std::pair<uint64_t, uint64_t>> counts_;
  std::map<std::string, bool> last_;  // check -> passed last time
  exec::Periodic timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
