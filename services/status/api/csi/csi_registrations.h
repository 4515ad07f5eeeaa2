#pragma once

/// The CSI drivers that pod-worker reports, the outcome of each at the API server, and the drivers
/// that the Node and the CSINode must lose.
/// In:      pod-worker's record `node`; results of rounds (csi_round.h).
/// Owns:    the drivers of pod-worker's present start, their outcomes, the drivers that left.
/// Out:     the steps of the next round; the outcomes in the record of the node.
/// Threads: the owner's; pure.
/// Errors:  none.
/// Source:  docs/behaviour/csi-node.md; kubelet csiPlugin RegisterPlugin, nodeinfomanager.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// Changes of the Node and of the CSINode.
struct CsiSteps {
  struct Write {
    v1::CsiDriver driver;
    bool limit_only = false;  // only max_volumes differs from the written driver
  };
  std::vector<Write> writes;          // by name
  std::vector<std::string> removals;  // by name
  bool empty() const { return writes.empty() && removals.empty(); }
};

/// The end of a write.
struct CsiWritten {
  v1::CsiDriver driver;
  Status status;
  bool refused = false;  // no other attempt can have another result
};

class CsiRegistrations {
 public:
  /// pod-worker's drivers. A driver that is missing has left, unless pod-worker has started since
  /// the last call: then it has left once pod-worker says that its drivers are known.
  /// `worker_start`: the start of pod-worker that wrote `worker`.
  void OnReported(Clock::Time worker_start, const v1::WorkerNode& worker);
  /// Another Node or CSINode object exists, so each driver must be written to it.
  void OnNewObjects();
  /// True: the driver is refused now, until pod-worker reports another registration.
  bool OnWritten(const CsiWritten& written);
  void OnRemoved(const std::string& driver, const Status& status);

  CsiSteps Steps() const;
  void AddOutcomes(v1::NodeRecord& node) const;

  enum class State { kWaiting, kWritten, kRefused };
  size_t Count(State state) const;

 private:
  enum class Pending { kNothing, kLimit, kAll };
  struct Entry {
    v1::CsiDriver driver;
    Pending pending = Pending::kAll;
    int refusals = 0;  // by the API server, one after the other
    std::optional<v1::CsiDriverOutcome> outcome;
  };
  static Pending PendingAfter(const Entry& entry, const v1::CsiDriver& now);

  Clock::Time worker_start_;  // no time: none
  std::map<std::string, Entry> entries_;
  std::set<std::string> leaving_;
  std::set<std::string> missing_;  // reported by an earlier start, and not yet by this one
};

}  // namespace splitlet::status
