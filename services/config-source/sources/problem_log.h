#pragma once

/// The log of a source's problems: each problem once when it appears, and once when it is over.
/// Then the manifest, URL or pod can be used again, or is gone.
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
  /// `is_there`: whether the manifest, URL or pod at Problem::where still exists.
  void Report(const Log& log, const std::string& source, const std::vector<Problem>& problems,
              const std::function<bool(const std::string& where)>& is_there);

 private:
  std::multimap<std::string, std::string> reported_;  // where -> reason
};

}  // namespace splitlet::config_source
