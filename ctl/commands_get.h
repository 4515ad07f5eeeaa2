#pragma once

/// `get` and `describe`: pods, processes, sources and the node. Called by main.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1.

#include <string>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct GetOptions {
  std::string output;      // "", wide, json, yaml
  std::string name;        // of one pod: "web" or "default/web"
  std::string name_space;  // only this; empty: all
  bool watch = false;
  bool all_namespaces = false;
  bool no_headers = false;
};
Status GetPods(const operate::Context& context, const GetOptions& options);
Status GetPod(const operate::Context& context, const GetOptions& options);
Status DescribePodCommand(const operate::Context& context, const GetOptions& options);
Status DescribeNodeCommand(const operate::Context& context);
Status GetProcesses(const operate::Context& context, const std::string& output);
Status GetSources(const operate::Context& context, const std::string& output);

}  // namespace splitlet::ctl
