#pragma once

/// The command line of a kubelet, parsed by the table of flags.
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
  std::string scripts;              // --splitlet-scripts: folder of nats.sh; empty: search for it
  std::vector<std::string> passed;  // {"--node-name", "a"}, ...; each flag once
  std::string node_ip;
  std::string lock_file;  // empty: none
  bool exit_on_lock_contention = false;
  struct Override {
    const FlagRow* row = nullptr;
    std::string value;
  };
  std::vector<Override> overrides;  // in the order of the command line
  std::vector<std::string> warnings;
};

/// `words`: without the program's name. When a flag is given twice, the last value counts; lists
/// and maps add up.
StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words);

/// Makes relative paths in `passed` absolute, below `folder`, the working directory, because the
/// processes run in another one.
void ResolvePassedPaths(const std::string& folder, Arguments& arguments);

/// For --help: each flag and what it does.
std::string HelpText();

}  // namespace splitlet::kubelet
