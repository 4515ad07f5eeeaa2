#pragma once

/// This node at the API server: registered, reported, and read back.
/// In:      the record `node` that NodeStatus puts; the node as the server has it (OnNode); a round
///          every nodeStatusUpdateFrequency, and soon after a condition has changed (Kick).
/// Owns:    whether the node is registered, when it was reported last, the server's node.
/// Out:     creates and patches the Node; `on_node` when the server's changes; events.
/// Killed:  the next start registers, that is corrects, the node, and reports it; a report says the
///          same whoever sends it.
/// Threads: the loop's; requests on the strand "api/node". A round waits for the one before it.
/// Errors:  logged when they change, and tried again: a registration after 0.1 s to 7 s, a report
///          five times in a round and then in the next.
/// Source:  docs/behaviour/node.md, "At the API server"; docs/safety.md, rules 8 and 24; kubelet
///          syncNodeStatus.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/apiclient/reflector.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
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
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    apiclient::Transport& transport;  // its own
    apiclient::Client::Options client;
    const bus::Table<v1::PodStatusRecord>& table;
    const peers::RuntimeState& runtime;
    peers::NodeImages* images = nullptr;  // null: nobody knows them
    NodeAtServerMetrics& metrics;
    const Log& log;
    std::function<void(const kube::Node&)> on_node;
    std::function<void(std::vector<v1::EventRecord>)> record_events;
  };
  NodeSync(Deps deps, const StatusConfig& config);
  ~NodeSync();
  NodeSync(const NodeSync&) = delete;
  NodeSync& operator=(const NodeSync&) = delete;

  void Start();
  /// Gives up what is under way.
  void BeginStop();
  /// Reports soon.
  void Kick();
  /// As the server has it; older ones than that known are passed over.
  void OnNode(std::shared_ptr<const kube::Node> node);
  /// null: not known yet.
  const std::shared_ptr<const kube::Node>& node() const { return node_; }

 private:
  struct Report;
  struct Reported;
  /// Of the machine; read once.
  struct MachineInfo {
    node::SystemInfo system;
    int64_t swap_bytes = 0;
    bool devices_known = false;  // a device manager has left its checkpoint
  };

  void StartWatch();
  void Schedule(Duration delay);
  /// How far apart rounds are that something has asked for.
  Duration KickWait() const;
  void OnTimer();
  void ReadMachine();
  void AskForImages();
  std::optional<NodeObservation> Gather() const;
  void RegisterSoon(const NodeObservation& facts);
  void OnRegistered(const StatusOr<Registered>& registered);
  void ReportSoon(const NodeObservation& facts);
  void OnReported(const Reported& reported);
  void OnListed(const std::vector<apiclient::Reflector::Object>& objects);
  void NoteFailure(const char* what, const Status& status);
  void NoteBoot(const std::string& boot_id_before);
  void NoteSchedulable(const kube::Node& node);
  void NoteReady();
  void SetNode(std::shared_ptr<const kube::Node> node);
  void RecordEvent(bool warning, const char* reason, std::string message);

  Deps deps_;
  const StatusConfig& config_;
  const std::shared_ptr<apiclient::Client> client_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::optional<MachineInfo> machine_;
  std::optional<std::vector<peers::NodeImage>> images_;
  std::shared_ptr<const kube::Node> node_;
  bool deleted_ = false;  // the server has said so since
  bool listed_ = false;   // once
  Unkept unkept_;
  bool registered_ = false;
  Duration register_wait_;
  Clock::Time started_, last_round_, last_report_;  // last_report_: no time before the first
  Clock::Time registering_, created_;               // no time: not yet, and not by this process
  Duration report_delay_{0};
  bool busy_ = false, again_ = false;
  bool was_ready_ = false;  // at the server, once
  bool unschedulable_ = false, boot_noted_ = false;
  std::string problem_;  // that was logged
  exec::TimerId timer_ = 0, images_timer_ = 0;
  std::unique_ptr<apiclient::Reflector> watch_;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
