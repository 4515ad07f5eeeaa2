#pragma once

/// A process's report about itself. Client fills it, splitletctl prints it, chaos runs check it.
/// Threads: any.
/// Errors: none.

#include <cstdint>
#include <memory>
#include <string>

namespace splitlet::v1 {
class ProcessInfo;
}

namespace splitlet::operate {

struct ProcessView {
  std::string name;
  std::shared_ptr<v1::ProcessInfo> info;  // null: no answer
  std::string problem;                    // why there is no answer
  bool listens = false;                   // without an answer: another process listens on its
                                          // socket
  bool refused = false;                   // without an answer: this user may not query it
  uint64_t restarts = 0;                  // without an answer: from the process's run folder
};

/// True if `pid` is this process in our pid namespace. A pid reported from a container means
/// another process here.
bool IsProcess(int32_t pid, const std::string& name);

/// The process's pid on this host: as it reports, or, for a container, the listener of its socket;
/// 0 if invisible.
int32_t PidHere(int32_t said, const std::string& socket, const std::string& name);

}  // namespace splitlet::operate
