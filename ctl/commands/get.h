#pragma once

/// `get` and `describe`: pods, the node, events, processes and sources. Called by main.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct GetOptions {
  std::string output;      // "", wide, json, yaml
  std::string name;        // only this pod: "web" or "default/web"
  std::string name_space;  // only this namespace; empty: all
  std::string kubeconfig;  // address of an API server to query instead of the node; empty: the node
  bool watch = false;
  bool all_namespaces = false;
  bool no_headers = false;
};
Status GetPods(const operate::Context& context, const GetOptions& options);
Status GetPod(const operate::Context& context, const GetOptions& options);
Status DescribePodCommand(const operate::Context& context, const GetOptions& options);
Status GetNode(const operate::Context& context, const GetOptions& options);
Status DescribeNodeCommand(const operate::Context& context, const GetOptions& options);

struct GetEventsOptions {
  std::string output;      // "", wide, json, yaml
  std::string object;      // "pod/web"; empty: events of all objects
  std::string name_space;  // only this namespace; empty: all
  std::vector<std::string> types;
  bool all_namespaces = false;
  bool no_headers = false;
};
Status GetEvents(const operate::Context& context, const GetEventsOptions& options);
Status GetProcesses(const operate::Context& context, const std::string& output);
Status GetSources(const operate::Context& context, const std::string& output);

}  // namespace splitlet::ctl
