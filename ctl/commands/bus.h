#pragma once

/// `events`, `recorder run` and `trace pod`: live or recorded messages of the bus. Called by main.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1.

#include <string>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct EventOptions {
  std::string since;  // "10m"; empty: nothing recorded with `follow`, else the last 10 min
  bool follow = false;
  bool heartbeats = false;
};
Status Events(const operate::Context& context, const EventOptions& options);
Status RunRecorder(const operate::Context& context);
Status TracePod(const operate::Context& context, const std::string& name, const std::string& since);

}  // namespace splitlet::ctl
