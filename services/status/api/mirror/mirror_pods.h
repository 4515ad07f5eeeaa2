#pragma once

/// Creates and deletes the mirror pods of this node, which show its static pods in the API.
/// In:      changes and completeness of `desired` (static pods and, in state MIRROR, mirror pods),
///          changes of `workers`, the node's UID once it is registered, a pass every 10 s.
/// Owns:    which static pod has which mirror pod; what was created or deleted and `desired` does
///          not show yet.
/// Out:     creates and deletes mirror pods; `on_change` when a static pod gets another mirror pod.
/// Killed:  at any line: the next start finds by name what was created or deleted.
/// Threads: the loop's; calls run on a few strands.
/// Errors:  logged, and tried again after 1 s to 60 s for each name; the static pod runs without
///          its mirror pod.
/// Source:  docs/behaviour/status.md, "Mirror pods"; docs/safety.md, rules 8 and 23.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/kube/pod_types.h"
#include "libs/peers/desired_owner.h"
#include "services/status/api/paths.h"
#include "services/status/api/pod_metrics.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

struct Mirror {
  PodObject object;
  std::string hash;  // of the static pod that it shows; the UID of that pod on this node
  bool deleting = false;
};

struct MirrorInputs {
  const std::string* wanted = nullptr;  // hash of the WANTED static pod of the name; null: none
  const Mirror* mirror = nullptr;       // null: none exists
  bool node_known = false;
  /// The mirror pod shows another static pod of the name, which is not finished.
  bool still_ends = false;
  /// It is certain that no static pod of the name is wanted: static sources and `workers` are
  /// complete, or the pod that the mirror pod shows was removed and has finished.
  bool certain = false;
};
enum class MirrorAct { kNone, kMake, kDelete };
MirrorAct NextMirrorAct(const MirrorInputs& in);

/// The mirror pod as it is sent to the server: the static pod, owned by the node.
kube::Pod MirrorOf(const kube::Pod& static_pod, const std::string& node_name,
                   const std::string& node_uid);

class MirrorPods {
 public:
  struct Deps {
    exec::Env env;
    std::shared_ptr<apiclient::Client> client;
    std::shared_ptr<peers::DesiredOwner> owner;  // asked before an orphan is deleted
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    std::string node_name;
    PodApiMetrics& metrics;
    /// `key`: of the static pod in `desired`.
    std::function<void(const std::string& key)> on_change;
    uint64_t seed = 1;  // for jitter
  };
  explicit MirrorPods(Deps deps);
  ~MirrorPods();
  MirrorPods(const MirrorPods&) = delete;
  MirrorPods& operator=(const MirrorPods&) = delete;

  /// Cancels running calls.
  void BeginStop() { stop_->Cancel(); }

  void OnDesired(const std::string& key);
  void OnWorker(const std::string& key);
  /// Completeness of `desired` or `workers` has changed.
  void OnViewState();
  /// UID of the node; empty: the node is not registered, or being deleted.
  void OnNode(const std::string& uid);
  void OnReconcile();
  /// The server has no such pod.
  void OnGone(const PodObject& object);

  /// The mirror pod that shows this static pod; null: none.
  const Mirror* Find(const std::string& static_key) const;

 private:
  struct Static {
    std::string hash;
    bool wanted = false;
  };
  struct Name {
    std::string logged_error;               // empty: none
    std::map<std::string, Static> statics;  // by key
    std::map<std::string, Mirror> shown;    // in `desired`, by UID
    std::optional<Mirror> made;             // the server confirmed it; `desired` lacks it still
    Clock::Time made_at;
    std::set<std::string> gone;  // UIDs of deleted pods that `desired` still shows
    bool busy = false;           // a call runs
  };
  struct Answer;

  void Forget(const std::string& key);
  void Insert(const std::string& key, const v1::DesiredRecord& record);
  void AddAll();
  const Mirror* Current(const Name& name) const;
  MirrorInputs InputsOf(const Name& name) const;
  bool IsRemoved(const std::string& key) const;
  bool IsUnfinished(const std::string& key) const;
  void Reconcile(const std::string& full_name);
  void Make(const std::string& full_name, Name& name);
  void Delete(const std::string& full_name, Name& name, bool orphan);
  void Run(const std::string& full_name, std::function<Answer(const Deadline& deadline)> work);
  void OnAnswer(const std::string& full_name, const Answer& answer);
  void NotifyChange(const std::string& hash);

  Deps deps_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::string node_uid_;
  std::map<std::string, Name> names_;           // by full name
  std::map<std::string, std::string> name_of_;  // key in `desired` -> full name
  size_t shown_ = 0;
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
