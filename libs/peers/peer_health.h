#pragma once

/// Queries the health of the other processes, for status.
/// Threads: Ask on a strand; it blocks until its deadline at most.
/// Errors: gRPC codes.
/// Source: docs/safety.md, rule 24.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "splitlet/v1/records.pb.h"

namespace grpc {
class Channel;
}

namespace splitlet::peers {

/// The runtime's state in pleg's last good answer.
struct RuntimeState {
  bool known = false;
  bool down = false;                     // pleg waits 30 s, like a kubelet, before it reports this
  std::vector<std::string> pleg_errors;  // set if the ledger names pleg
  struct Condition {
    std::string type, reason, message;
    bool status = false;
  };
  std::vector<Condition> conditions;
  v1::NodeFeatures features;
  std::string name, version;  // "containerd", "1.6.20"; empty: unknown
};

struct PeerAnswer {
  bool healthy = true;
  std::string reason;                   // reason of an unhealthy process
  std::optional<RuntimeState> runtime;  // only for pleg
};

class PeerHealth {
 public:
  virtual ~PeerHealth() = default;
  virtual StatusOr<PeerAnswer> Ask(const std::string& process, Deadline deadline) = 0;
};

using FindPeer = std::function<std::shared_ptr<grpc::Channel>(const std::string& process)>;
/// Calls GetHealth of pleg and GetProcess of the others. `clock` outlives the result.
std::unique_ptr<PeerHealth> MakePeerHealth(const Clock& clock, FindPeer find);

}  // namespace splitlet::peers
