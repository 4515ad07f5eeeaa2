#include "services/config-source/sources/problem_log.h"

#include <utility>

namespace splitlet::config_source {
namespace {

bool Holds(const std::multimap<std::string, std::string>& all, const std::string& where,
           const std::string& reason) {
  const auto [first, last] = all.equal_range(where);
  for (auto at = first; at != last; ++at)
    if (at->second == reason) return true;
  return false;
}

}  // namespace

void ProblemLog::Report(const Log& log, const std::string& source,
                        const std::vector<Problem>& problems,
                        const std::function<bool(const std::string& where)>& is_there) {
  std::multimap<std::string, std::string> now;
  for (const Problem& problem : problems) {
    now.emplace(problem.where, problem.reason);
    if (!Holds(reported_, problem.where, problem.reason))
      log.Warn("source of pods has a problem",
               {KV("source", source), KV("where", problem.where), KV("err", problem.reason)});
  }
  for (const auto& [where, reason] : reported_) {
    if (now.contains(where)) continue;
    log.Info(is_there(where) ? "a problem of a source of pods is over"
                             : "a problem of a source of pods is over, its manifest or pod is gone",
             {KV("source", source), KV("where", where)});
  }
  reported_ = std::move(now);
}

}  // namespace splitlet::config_source
