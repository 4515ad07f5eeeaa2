#pragma once

/// Registers this node at the API server, reports its status, and follows the Node object.
/// In:      the record `node` that NodeStatus puts; the Node as the server has it (OnNode); a round
///          every nodeStatusUpdateFrequency, soon after a condition has changed (Kick), and sooner
///          after the volumes in use have changed (OnVolumes).
/// Owns:    whether the node is registered, the time of the last report, the server's Node.
/// Out:     creates and patches the Node; calls `on_node` when the server's Node changes; events.
/// Killed:  the next start registers the node again, which corrects the object, and reports it.
///          Reports of any start are the same.
/// Threads: the loop's; requests run on the strand "api/node", one round after the other.
/// Errors:  logged when they change. A registration is tried again after 0.1 s to 7 s, a report up
///          to five times in a round and again in the next round.
/// Source:  docs/behaviour/node.md, "At the API server"; docs/safety.md, rules 8 and 24; kubelet
///          syncNodeStatus.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/apiclient/reflector.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/peers/peer_health.h"
#include "services/status/api/node/node_object.h"
#include "services/status/api/node/node_patch.h"
#include "services/status/api/node/registration.h"
#include "services/status/config.h"
#include "services/status/metrics.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::status {

class NodeSync {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    apiclient::Transport& transport;  // used by the node alone
    apiclient::Client::Options client;
    const bus::Table<v1::PodStatusRecord>& table;
    const peers::RuntimeState& runtime;
    peers::NodeImages* images = nullptr;  // null: images are not reported
    NodeAtServerMetrics& metrics;
    /// As VolumesInUse of node_volumes.h.
    std::function<std::optional<std::vector<std::string>>()> volumes_in_use;
    std::function<void(const kube::Node&)> on_node;
    std::function<void(std::vector<v1::EventRecord>)> record_events;
  };
  NodeSync(Deps deps, const StatusConfig& config);
  ~NodeSync();
  NodeSync(const NodeSync&) = delete;
  NodeSync& operator=(const NodeSync&) = delete;

  void Start();
  /// Cancels running requests.
  void BeginStop();
  /// Reports soon.
  void Kick();
  /// pod-worker may have another list of volumes in use.
  void OnVolumes();
  /// The Node as the server has it. An older version than the known one is ignored.
  void OnNode(std::shared_ptr<const kube::Node> node);
  /// The server's Node; null: not known yet.
  const std::shared_ptr<const kube::Node>& node() const { return server_.node; }
  /// The volumes in use that the server has, sorted; empty until they were read after the start of
  /// this process, because a watch may begin with an old version of the Node.
  std::vector<std::string> ReportedVolumes() const;

 private:
  struct Report;
  struct Reported;
  /// Whether a round runs. OnTimer, Kick and EndRound alone change it.
  enum class Round {
    kNone,
    kRuns,
    kRunsOnceMore,  // Kick was called during the round
  };
  /// Values that are read of the machine once.
  struct MachineInfo {
    node::SystemInfo system;
    int64_t swap_bytes = 0;
    bool devices_known = false;  // the folder has a device manager's checkpoint
  };

  void StartWatch();
  void Schedule(Duration delay);
  /// Moves the next round forward, never back.
  void ScheduleWithin(Duration delay);
  void OnTimer();
  void KickAfter(Duration delay);
  std::optional<Duration> SinceLastRound() const;
  /// The server does not have pod-worker's list of volumes in use, or may not have it.
  bool AreVolumesUnreported() const;
  /// True: Kick was called during the round.
  bool EndRound() { return std::exchange(round_, Round::kNone) == Round::kRunsOnceMore; }
  void ReadMachine();
  void AskForImages();
  std::optional<NodeObservation> Gather() const;
  void RegisterSoon(const NodeObservation& observed);
  void OnRegistered(const StatusOr<Registered>& registered);
  void ReportSoon(const NodeObservation& observed);
  void OnReported(const Reported& reported);
  void OnListed(const std::vector<apiclient::Reflector::Object>& objects);
  void LogFailure(const char* message, const Status& status);
  void ReportReboot(const std::string& boot_id_before);
  void ReportSchedulable(const kube::Node& node);
  void CheckReady();
  void SetNode(std::shared_ptr<const kube::Node> node);
  void RecordEvent(bool warning, const char* reason, std::string message);

  Deps deps_;
  const StatusConfig& config_;
  const std::shared_ptr<apiclient::Client> client_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::optional<MachineInfo> machine_;
  std::optional<std::vector<peers::NodeImage>> images_;
  /// The Node at the server.
  struct {
    std::shared_ptr<const kube::Node> node;  // null: not known yet
    bool deleted = false;                    // a watch event said that the server deleted `node`
    bool current = false;                    // a read or write of this process has shown it
    bool listed = false;                     // the watch has listed once
    bool was_ready = false;                  // the server has shown the node as Ready
  } server_;
  struct Registration {
    bool done = false;
    Duration wait{0};     // before the next attempt; 0: none has failed
    Clock::Time started;  // the first attempt; no time: not yet
    Clock::Time created;  // by this process; no time: not, or the node is Ready since
  } registration_;
  struct {
    Clock::Time last;   // no time: not yet
    Duration delay{0};  // of the next report, against lockstep
    Unkept unkept;
  } reports_;
  Clock::Time started_, last_round_;  // no time: not yet
  Round round_ = Round::kNone;
  bool unschedulable_ = false, reboot_reported_ = false;
  std::string logged_error_;  // empty: none
  exec::TimerId timer_ = 0, images_timer_ = 0;
  Clock::Time timer_at_;  // when `timer_` runs
  std::unique_ptr<apiclient::Reflector> watch_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
