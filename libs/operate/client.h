#pragma once

/// Calls from splitletctl to the processes. A call to a missing process fails immediately, unless
/// the caller waits for its supervisor to start it.
/// Threads: any; calls block, each with a deadline.
/// Errors: UNAVAILABLE with the process and advice; PERMISSION_DENIED with the process, the caller,
/// and the permitted users.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/operate/layout.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/process_view.h"

namespace grpc {
class Channel;
}
namespace splitlet::v1 {
class EventRecord;
class DiscardRecordReply;
class FaultList;
class GcReport;
class OpenStreamRequest;
class Sources;
}  // namespace splitlet::v1

namespace splitlet::operate {

/// Key -> serialised record.
using Records = std::map<std::string, std::string>;

/// The pods of the node, and the reasons why some are missing.
struct NodePods {
  std::vector<PodView> pods;          // by namespace, then name
  std::vector<std::string> problems;  // "status does not run: ..."
  bool listed = false;                // at least one process listed its pods
  bool refused = false;               // no process lists them for this user
};

class Client {
 public:
  /// `patience`: how long a call waits for a process that its supervisor is starting. Ask does not
  /// wait.
  Client(Layout layout, const Clock& clock, Duration patience = 0s)
      : layout_(std::move(layout)), clock_(clock), patience_(patience) {}
  const Layout& layout() const { return layout_; }
  const Clock& clock() const { return clock_; }

  /// Reads `table` from its owner.
  StatusOr<Records> ListTable(const std::string& table, Duration limit = 3s) const;
  enum class Detail {
    kList,  // reads spec and status
    kAll,   // also reads the tables of sync-loop, pod-worker and pleg
  };
  NodePods ListPods(Detail detail) const;
  /// Returns the current status in `status`.
  StatusOr<std::shared_ptr<kube::PodStatus>> GetPodStatus(const std::string& uid) const;
  /// The processes of every node, and node-api if it has run since the stack last started without
  /// an API server (docs/cluster.md).
  std::vector<std::string> ProcessesHere() const;
  /// Asks all processes.
  std::vector<ProcessView> ListProcesses() const;
  /// Asks one process.
  ProcessView Ask(const std::string& process) const;
  /// "containerd://1.6.20" from pleg; empty: unknown.
  StatusOr<std::string> GetRuntimeVersion() const;
  StatusOr<std::shared_ptr<v1::Sources>> GetSources() const;
  StatusOr<std::shared_ptr<v1::GcReport>> RunGc(bool dry_run) const;
  /// Events of one pod; empty: all events.
  StatusOr<std::vector<std::shared_ptr<v1::EventRecord>>> ListEvents(const std::string& uid) const;
  /// NOT_FOUND: the process has no unreadable record of the pod; UNIMPLEMENTED: it keeps no
  /// records.
  StatusOr<std::shared_ptr<v1::DiscardRecordReply>> DiscardRecord(const std::string& process,
                                                                  const std::string& uid) const;
  /// Lasts until the process ends. Returns the previous level.
  StatusOr<std::string> SetLogLevel(const std::string& process, const std::string& level) const;
  StatusOr<std::shared_ptr<v1::FaultList>> ListFaults(const std::string& process) const;
  StatusOr<std::shared_ptr<v1::FaultList>> SetFault(const std::string& process,
                                                    const std::string& name,
                                                    const std::string& term,
                                                    Duration limit = 3s) const;
  /// The URL of the runtime's server for a stream into a pod.
  StatusOr<std::string> OpenStream(const v1::OpenStreamRequest& request) const;
  /// OK if a process listens on the socket.
  Status CheckRuns(const std::string& process) const;

 private:
  /// Like CheckRuns, but waits.
  Status AwaitListener(const std::string& process) const;
  StatusOr<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& process) const;

  const Layout layout_;
  const Clock& clock_;
  const Duration patience_;
};

}  // namespace splitlet::operate
