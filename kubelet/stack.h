#pragma once

/// The stack of a node below one folder, as deploy/local lays it out: its parts and their commands.
/// Threads: any; PrepareStack blocks.
/// Errors:  name the file that is missing or cannot be made.

#include <string>
#include <vector>

#include "kubelet/arguments.h"
#include "kubelet/supervise.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::kubelet {

struct Stack {
  std::string folder, programs, scripts;  // without '/' at the end
  std::string config() const { return folder + "/run/kubelet.json"; }
  std::string bus() const { return folder + "/nats"; }
};

/// Finds the programs and scripts: beside `self`, in the folders of a package, or in a source tree.
StatusOr<Stack> FindStack(fs::FileSystem& files, const Arguments& arguments,
                          const std::string& self);

/// Writes folders, the configuration, keys and passwords of the bus, and has a process check the
/// configuration.
Status PrepareStack(fs::FileSystem& files, const Stack& stack, const Arguments& arguments,
                    const std::string& config);

/// The bus first, then each process. After PrepareStack.
StatusOr<std::vector<SupervisedProgram>> ProgramsOf(fs::FileSystem& files, const Stack& stack,
                                                    const Arguments& arguments);

}  // namespace splitlet::kubelet
