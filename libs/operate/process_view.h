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
  bool listens = false;                   // without an answer: something has its socket
  bool refused = false;                   // without an answer: this user may not ask it
  uint64_t restarts = 0;                  // without an answer: from its run folder
};

/// Whether `pid` is this process here. A pid from inside a container is another's outside of it.
bool IsProcess(int32_t pid, const std::string& name);

/// The pid that the process has here: what it says itself, or, where that is of its container, who
/// listens on its socket; 0 where it is not seen from here.
int32_t PidHere(int32_t said, const std::string& socket, const std::string& name);

}  // namespace splitlet::operate
