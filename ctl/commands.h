#pragma once

/// The commands of splitletctl: each asks, prints, and returns what went wrong.
/// Threads: the main one. Errors: printed by main as one line; exit code 1.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
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
  std::string since;  // "10m"; empty: nothing of the past with `follow`, else the last 10 min
  bool follow = false;
  bool beats = false;
};
Status Events(const Context& context, const EventOptions& options);
Status RunRecorder(const Context& context);
Status TracePod(const Context& context, const std::string& name, const std::string& since);

/// Until every pod of a manifest runs, has succeeded or was refused, a line each; `timeout`: "5m".
/// ABORTED naming the pods that failed or were not in time.
Status RunOnce(const Context& context, const std::string& timeout);
Status DescribeNodeCommand(const Context& context);

Status Gc(const Context& context, bool dry_run);
struct ProcessOptions {
  std::string action, process;  // action: kill, stop, cont, restart, down, up
};
Status ProcessCommand(const Context& context, const ProcessOptions& options);
struct ChaosOptions {
  std::string scenario, report;  // paths, absolute
  std::optional<uint64_t> seed;
  int repeat = 1;
  double minutes = 0;  // repeats until then; 0: `repeat` times
  std::string label;   // of what is tested, for the report: a commit
  bool dry_run = false;
  std::string flooded;  // of `chaos flood`: the process
};
/// ABORTED when something that must hold did not.
Status ChaosRun(const Context& context, const ChaosOptions& options);
/// Asks one process too much, until it is stopped: what the fault flood starts.
Status ChaosFlood(const Context& context, const std::string& process);
struct FaultOptions {
  std::string process, name, term;
  bool no_headers = false;
};
Status ListFaultsCommand(const Context& context, const FaultOptions& options);
Status SetFaultCommand(const Context& context, const FaultOptions& options);
Status ClearFaults(const Context& context, const FaultOptions& options);
/// NOT_FOUND when every process can read what it keeps of the pod.
Status DiscardRecordCommand(const Context& context, const std::string& uid);
/// FAILED_PRECONDITION when something is bad.
Status Doctor(const Context& context, const std::string& runtime_endpoint);

}  // namespace splitlet::ctl
