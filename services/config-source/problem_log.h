#pragma once

/// Tells each problem once when it comes, and once when it is over.
/// Threads: one. Errors: none. Source: STYLE.md section 13.

#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "services/config-source/source.h"

namespace splitlet::config_source {

class ProblemLog {
 public:
  void Tell(const Log& log, const std::string& source, const std::vector<Problem>& problems);

 private:
  std::multimap<std::string, std::string> told_;  // where -> reason
};

}  // namespace splitlet::config_source
