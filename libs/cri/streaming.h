#pragma once

/// Requests streams into containers and sandboxes. The runtime serves the streams; these calls
/// return their URLs. A role of its own, because its holder can run anything in any pod.
/// Threads: any; each call blocks until its answer or its deadline.
/// Errors: gRPC codes, unchanged; INTERNAL: an answer without a URL.
/// Source: CRI v1.

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace splitlet::cri {

struct StreamChannels {
  bool tty = false, in = false, out = false, err = false;
};

class Streaming {
 public:
  virtual ~Streaming() = default;
  /// URLs of the runtime's streaming server; each works once.
  virtual StatusOr<std::string> OpenExec(const ContainerId& id,
                                         const std::vector<std::string>& command,
                                         const StreamChannels& channels, Deadline deadline) = 0;
  virtual StatusOr<std::string> OpenAttach(const ContainerId& id, const StreamChannels& channels,
                                           Deadline deadline) = 0;
  virtual StatusOr<std::string> OpenPortForward(const SandboxId& id,
                                                const std::vector<int32_t>& ports,
                                                Deadline deadline) = 0;
};

}  // namespace splitlet::cri
