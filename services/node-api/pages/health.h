#pragma once

/// /healthz: whether this node agent is alive, part by part.
/// In:    answers of sync-loop to questions each ten seconds.
/// Owns:  when sync-loop last said that its loop turns; counts of what was told.
/// Out:   questions to sync-loop.
/// Killed at any line: its next start counts from then.
/// Threads: loop thread; sync-loop is asked on a strand.
/// Errors: a part that is not well, with why.
/// Source: docs/behaviour/node-api.md, "healthz".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/log.h"
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
    std::function<Status(const Deadline& deadline)> ask_sync_loop;  // on a strand
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
  /// They begin anew.
  void ResetMetrics();

 private:
  struct Part {
    std::string name, trouble;  // empty: it is well
  };
  std::vector<Part> Look() const;
  https::Answer AnswerAll(const std::vector<Part>& parts, const Query& query);
  void AskSyncLoop();

  Deps deps_;
  const Duration limit_;
  Clock::Time sync_loop_well_;
  bool asking_ = false;
  std::string sync_loop_trouble_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> told_;  // name -> well, not well
  std::map<std::string, bool> last_;
  exec::Periodic timer_;
};

}  // namespace splitlet::node_api
