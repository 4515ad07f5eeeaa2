#pragma once

/// The stack of a node below one folder, as deploy/local lays it out: where its parts are and how
/// they are started.
/// Threads: any; PrepareStack blocks.
/// Errors:  what is missing or cannot be made, by name.

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

/// Folders of the programs and scripts: beside `self`, in a package's places, or in a source tree.
StatusOr<Stack> FindStack(fs::FileSystem& files, const Arguments& arguments,
                          const std::string& self);

/// Folders, the configuration as a file, keys and passwords of the bus. Asks a process whether it
/// takes all of it.
Status PrepareStack(fs::FileSystem& files, const Stack& stack, const Arguments& arguments,
                    const std::string& config);

/// After PrepareStack: the bus, then each process.
StatusOr<std::vector<SupervisedProgram>> ProgramsOf(fs::FileSystem& files, const Stack& stack,
                                                    const Arguments& arguments);

}  // namespace splitlet::kubelet
