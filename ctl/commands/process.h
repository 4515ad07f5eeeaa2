#pragma once

/// `process kill`, `stop`, `cont`, `restart`, `down` and `up`. Called by main.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1.

#include <string>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct ProcessOptions {
  std::string action, process;  // action: kill, stop, cont, restart, down, up
};
Status ProcessCommand(const operate::Context& context, const ProcessOptions& options);

}  // namespace splitlet::ctl
