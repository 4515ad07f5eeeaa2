#pragma once

/// The next call to the API server for one pod: none, a write, or the question whether the pod may
/// be deleted. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/status.md, "To the API server"; docs/safety.md, rules 20 and 23.

#include <cstdint>
#include <memory>
#include <string>

#include "services/status/api/paths.h"
#include "services/status/api/pods/pod_writer.h"

namespace splitlet::status {

/// How far this process has come with its first write of a pod.
enum class WriteProgress { kNothing, kFirstCallFailed, kWritten };

/// A pod at the server, as this process knows it.
struct PodAtServer {
  uint64_t sent = 0;                        // version of the record that `server` has
  std::string uid;                          // of the object at the server
  std::shared_ptr<const ServerPod> server;  // null: unknown, read it first
  std::string shown_version;                // resource version that `desired` showed last
  WriteProgress progress = WriteProgress::kNothing;
  bool differs = false;  // `desired` shows a newer object than `server`
  bool gone = false;     // the server has no such pod
};

/// The object that a pod's status is written to, and what `desired` shows of it.
struct PodTarget {
  PodObject object;
  bool mirror = false;
  bool live = false;  // `desired` is live and complete for the API server
  std::shared_ptr<const ServerPod> shown;
};

/// The part of the pod's record of `podstatus` that the next call depends on.
struct StatusVersion {
  uint64_t version = 0;
  bool deletable = false;  // the worker of the pod has finished
};

enum class PodCall {
  kNone,         // the server has the latest status, or has no such pod
  kWrite,        // read the pod unless it is known, and patch what differs
  kAskFinished,  // ask pod-worker whether the pod has finished; if so, delete it at the server
};
PodCall NextCall(const PodAtServer& pod, const StatusVersion& status, const PodTarget& target);

/// A client has deleted the pod, and the server has its last status.
bool MayBeDeleted(const PodAtServer& pod, const StatusVersion& status, const PodTarget& target);

/// The version that a patch is made against; null: read the pod first. A pod that an earlier start
/// or a kubelet has reported is read.
std::shared_ptr<const ServerPod> BaseOf(const PodAtServer& pod, const PodTarget& target);

/// After `desired` or the mirror pods show the object in another version.
struct AfterShown {
  bool restored = false;  // the server was restored, and lost our later patches
  bool compare = false;   // with the next pass: another client may have changed the status
  bool call_soon = false;
};
AfterShown CompareWithShown(const PodAtServer& pod, const StatusVersion& status,
                            const PodTarget& target);

}  // namespace splitlet::status
