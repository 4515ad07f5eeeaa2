#pragma once

/// The pods of this node at the API server: joins the writers of statuses, mirror pods and events.
/// In, out, owns, killed, errors: see PodStatusWriter, MirrorPods, PodStarts and EventSink.
/// Threads: the loop's.

#include <memory>
#include <string>

#include "libs/exec/env.h"
#include "services/status/api/events/event_sink.h"
#include "services/status/api/mirror/mirror_pods.h"
#include "services/status/api/pods/pod_starts.h"
#include "services/status/api/pods/pod_status_writer.h"

namespace splitlet::status {

class PodsAtServer {
 public:
  struct Deps {
    exec::Env env;
    std::shared_ptr<apiclient::Client> client;  // limited by kubeAPIQPS and kubeAPIBurst
    std::shared_ptr<apiclient::Client> events;  // limited by eventRecordQPS and eventBurst
    std::shared_ptr<FinishedPods> finished;
    std::shared_ptr<peers::DesiredOwner> owner;
    const bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    std::string node_name;
    uint64_t seed = 1;  // for jitter
  };
  explicit PodsAtServer(const Deps& deps);
  PodsAtServer(const PodsAtServer&) = delete;
  PodsAtServer& operator=(const PodsAtServer&) = delete;

  /// Cancels running calls.
  void BeginStop();
  /// A record of `podstatus` was put or removed.
  void OnStatus(const std::string& key) { statuses_.OnStatus(key); }
  void OnDesired(const std::string& key);
  void OnWorker(const std::string& key) { mirrors_.OnWorker(key); }
  /// State or completeness of `desired` or `workers` has changed.
  void OnViewState() { mirrors_.OnViewState(); }
  /// UID of the node at the server; empty: the node is not registered, or being deleted.
  void OnNode(const std::string& uid) { mirrors_.OnNode(uid); }
  /// Every 10 s.
  void OnReconcile();
  void OnEvent(const std::string& key, const v1::EventRecord& event, bool is_new) {
    starts_.OnEvent(event);
    events_.OnEvent(key, event, is_new);
  }

 private:
  std::string PodVersion(const std::string& uid) const;

  const bus::View<v1::DesiredRecord>& desired_;
  PodApiMetrics metrics_;
  MirrorPods mirrors_;
  PodStatusWriter statuses_;
  PodStarts starts_;
  EventSink events_;
};

}  // namespace splitlet::status
