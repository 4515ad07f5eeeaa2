#pragma once

/// The command line of a kubelet, taken apart by the table of flags.
/// Threads: pure.
/// Errors: INVALID_ARGUMENT that names the flag.
/// Source: kubelet --help.

#include <string>
#include <vector>

#include "kubelet/flag_table.h"
#include "libs/base/status.h"

namespace splitlet::kubelet {

struct Arguments {
  enum class Print { kNothing, kHelp, kVersion } print = Print::kNothing;
  std::string config, config_dir;
  std::string directory = "/var/lib/splitlet-kubelet";  // --splitlet-dir: sockets, records, bus
  std::string scripts;              // --splitlet-scripts: of nats.sh; empty: looked for
  std::vector<std::string> passed;  // "--node-name", "a"; each flag once
  std::string node_ip;
  std::string lock_file;  // empty: none
  bool exit_on_lock_contention = false;
  struct Override {
    const FlagRow* row = nullptr;
    std::string value;
  };
  std::vector<Override> overrides;  // in their order
  std::vector<std::string> warnings;
};

/// Without the program's name. Of a flag that is given several times the last one counts; lists and
/// maps grow.
StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words);

/// Of relative paths in `passed` makes absolute ones below `folder`, the working directory: no
/// process is told where that was.
void ResolvePassedPaths(const std::string& folder, Arguments& arguments);

/// For --help: each flag and what becomes of it.
std::string HelpText();

}  // namespace splitlet::kubelet
