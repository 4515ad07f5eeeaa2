#pragma once

/// The commands of splitletctl: each asks, prints, and returns what went wrong.
/// Threads: the main one. Errors: printed by main as one line; exit code 1.

#include <functional>
#include <iosfwd>
#include <string>

#include "ctl/client.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct Context {
  const Client& client;
  std::ostream& out;
  std::ostream& err;
  std::function<bool()> stopped;  // by a signal: ends what watches
};

struct GetOptions {
  std::string output;      // "", wide, json, yaml
  std::string name;        // of one pod: "web" or "default/web"
  std::string name_space;  // only this; empty: all
  bool watch = false;
  bool all_namespaces = false;
  bool no_headers = false;
};
Status GetPods(const Context& context, const GetOptions& options);
Status GetPod(const Context& context, const GetOptions& options);
Status DescribePodCommand(const Context& context, const GetOptions& options);
Status GetProcesses(const Context& context, const std::string& output);
Status GetSources(const Context& context, const std::string& output);

struct EventOptions {
  std::string since;  // "10m"; empty: nothing of the past
  bool follow = false;
  bool beats = false;
};
Status Events(const Context& context, const EventOptions& options);
Status EnsureRecorderCommand(const Context& context);
Status TracePod(const Context& context, const std::string& name, const std::string& since);

Status Gc(const Context& context, bool dry_run);
struct FaultOptions {
  std::string process, name, term;
  bool no_headers = false;
};
Status ListFaultsCommand(const Context& context, const FaultOptions& options);
Status SetFaultCommand(const Context& context, const FaultOptions& options);
Status ClearFaults(const Context& context, const FaultOptions& options);
/// FAILED_PRECONDITION when something is bad.
Status Doctor(const Context& context, const std::string& runtime_endpoint);

}  // namespace splitlet::ctl
