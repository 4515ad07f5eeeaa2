#pragma once

/// The mirror pods of this node: how its static pods are seen in the API.
/// In:      changes and completeness of `desired` (static pods and, in state MIRROR, mirror pods),
///          changes of `workers`, the node's UID once it is registered, a pass each 10 s.
/// Owns:    which static pod has which mirror; what was made or removed and is not shown yet.
/// Out:     makes and deletes mirror pods; `on_change` when a static pod's mirror is another.
/// Killed:  at any line: the next start finds by their names what was made or removed.
/// Threads: the loop's; calls on a few strands.
/// Errors:  logged, and tried again after 1 s to 60 s for each name; a pod runs without its mirror.
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
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/peers/desired_owner.h"
#include "services/status/api/paths.h"
#include "services/status/api/pod_metrics.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

struct Mirror {
  PodObject object;
  std::string hash;  // of the static pod that it shows, which is its UID here
  bool deleting = false;
};

struct MirrorInputs {
  const std::string* wanted = nullptr;  // hash of the static pod of the name; null: none is WANTED
  const Mirror* mirror = nullptr;       // null: there is none
  bool node_known = false;
  bool still_ends =
      false;  // another static pod of the name, whose status it shows, is not finished
  /// That none is wanted: the static sources and the workers are complete, or the pod that it shows
  /// was removed, and has finished.
  bool certain = false;
};
enum class MirrorAct { kNone, kMake, kDelete };
MirrorAct NextMirrorAct(const MirrorInputs& facts);

/// What is sent to make it: the static pod, owned by the node.
kube::Pod MirrorOf(const kube::Pod& static_pod, const std::string& node_name,
                   const std::string& node_uid);

class MirrorPods {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<apiclient::Client> client;
    std::shared_ptr<peers::DesiredOwner> owner;  // asked before one goes for want of a static pod
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    std::string node_name;
    PodApiMetrics& metrics;
    Log log;
    /// `key`: of the static pod in the tables.
    std::function<void(const std::string& key)> on_change;
    uint64_t seed = 1;  // of jitter
  };
  explicit MirrorPods(Deps deps);
  ~MirrorPods();
  MirrorPods(const MirrorPods&) = delete;
  MirrorPods& operator=(const MirrorPods&) = delete;

  /// Gives up what is under way.
  void BeginStop() { stop_->Cancel(); }

  void OnDesired(const std::string& key);
  void OnWorker(const std::string& key);
  /// Completeness of `desired` or `workers` has changed.
  void OnViewState();
  /// Empty: not registered, or being deleted.
  void OnNode(const std::string& uid);
  void OnReconcile();
  /// The server has no such pod.
  void OnGone(const PodObject& object);

  /// The mirror that shows this static pod; null: none.
  const Mirror* Find(const std::string& static_key) const;

 private:
  struct Static {
    std::string hash;
    bool wanted = false;
  };
  struct Name {
    std::string problem;                    // that was logged
    std::map<std::string, Static> statics;  // by key
    std::map<std::string, Mirror> shown;    // in `desired`, by UID
    std::optional<Mirror> made;             // answered by the server, and not shown yet
    Clock::Time made_at;
    std::set<std::string> gone;  // UIDs that are shown still
    bool busy = false;
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
  void Tell(const std::string& hash);

  Deps deps_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::string node_uid_;
  std::map<std::string, Name> names_;           // by full name
  std::map<std::string, std::string> name_of_;  // key in `desired` -> full name
  size_t shown_ = 0;
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
