#pragma once

/// Logs each problem once when it comes, and once when it is over.
/// Threads: one.
/// Errors: none.
/// Source: docs/design.md, "Logs and metrics".

#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

class ProblemLog {
 public:
  void Report(const Log& log, const std::string& source, const std::vector<Problem>& problems);

 private:
  std::multimap<std::string, std::string> reported_;  // where -> reason
};

}  // namespace splitlet::config_source
