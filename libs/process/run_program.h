#pragma once

/// Runs another program to its end: with input, bounded output and a deadline.
/// Threads: any; the call blocks.
/// Errors: NOT_FOUND and others: the program cannot be started; UNAVAILABLE: its exit code or
///         signal, and the start of its stderr or else stdout; DEADLINE_EXCEEDED; CANCELLED;
///         RESOURCE_EXHAUSTED: too much output. In the last three cases its process group is
///         killed.

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
  std::vector<std::string> argv;           // argv[0]: a path, or a name to find in PATH
  std::map<std::string, std::string> env;  // added to this process's environment
  std::string input;                       // bytes for its stdin
  Duration limit = std::chrono::minutes{1};
  size_t max_output_bytes = 1u << 20;
  CancelToken* cancel = nullptr;  // cancelling kills the program
  bool secret_output = false;     // no error shows the output
  int* exit_code =
      nullptr;  // set if the program ended by itself; after a signal 128 plus its number
};

/// The error for a program that exceeded its limit.
Status NoEndInTime(const Program& program);

/// The program's stdout. Does not wait for children that the program leaves behind.
StatusOr<std::string> RunProgram(const Program& program);

/// RunProgram, or a fake.
using ProgramRunner = std::function<StatusOr<std::string>(const Program&)>;

}  // namespace splitlet::process
