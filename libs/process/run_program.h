#pragma once

/// Runs another program to its end: something on its input, its output within bounds, a deadline.
/// Threads: any; the call blocks.
/// Errors: NOT_FOUND and the like when it cannot be started; UNAVAILABLE with its exit code or
///         signal and the first of what it printed to stderr, or else to stdout; DEADLINE_EXCEEDED;
///         CANCELLED; RESOURCE_EXHAUSTED when it prints too much. In the last three it is killed,
///         with all of its process group.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::process {

struct Program {
  std::vector<std::string> argv;           // argv[0]: a path, or looked for in PATH
  std::map<std::string, std::string> env;  // over what this process has
  std::string input;                       // for its stdin
  Duration limit = std::chrono::minutes{1};
  size_t max_output_bytes = 1u << 20;
  CancelToken* cancel = nullptr;  // kills it
  bool secret_output = false;     // which stands in no error
  int* exit_code = nullptr;  // set where it came to its own end; of a signal 128 and its number
};

/// What it printed to stdout. Children that it leaves behind are not waited for.
StatusOr<std::string> RunProgram(const Program& program);

/// RunProgram, or a fake.
using ProgramRunner = std::function<StatusOr<std::string>(const Program&)>;

}  // namespace splitlet::process
