#pragma once

/// Logs each problem once when it comes, and once when it is over, with the reason: what had it can
/// be used now, or is gone.
/// Threads: one.
/// Errors: none.
/// Source: docs/design.md, "Logs and metrics".

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

class ProblemLog {
 public:
  /// `is_there`: whether there is still a manifest, by Problem::where.
  void Report(const Log& log, const std::string& source, const std::vector<Problem>& problems,
              const std::function<bool(const std::string& where)>& is_there);

 private:
  std::multimap<std::string, std::string> reported_;  // where -> reason
};

}  // namespace splitlet::config_source
