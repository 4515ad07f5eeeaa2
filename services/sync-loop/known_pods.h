#pragma once

/// What the views say of each pod, parsed once per change. It decides nothing.
/// In:    changes of `desired`, `workers` and `runtime`, from SyncLoopService alone.
/// Owns:  a digest of each record, by key.
/// Out:   nothing; admission, grants and orphans read it.
/// Killed at any line: nothing is lost; the views are listed again.
/// Threads: loop thread only.
/// Errors: a record that cannot be understood is present and unknown; it starts and stops nothing.
/// Source: docs/safety.md, rules 7 and 11.

#include <map>
#include <string>

#include "libs/bus/typed.h"
#include "services/sync-loop/pod_digests.h"

namespace splitlet::sync_loop {

class KnownPods {
 public:
  void TakeDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void TakeWorker(const bus::View<v1::WorkerRecord>::Change& change);
  void TakeRuntime(const bus::View<v1::RuntimeRecord>::Change& change);

  /// nullptr: there is no record, which says nothing while the view is not complete.
  const PodDigest* Pod(const std::string& key) const;
  const WorkerDigest* Worker(const std::string& key) const;
  const std::map<std::string, PodDigest>& pods() const { return pods_; }
  const std::map<std::string, WorkerDigest>& workers() const { return workers_; }
  const std::map<std::string, RuntimeDigest>& runtime() const { return runtime_; }

  bool IsRunning(const std::string& key) const;
  /// Its worker says that this incarnation is terminated, or has gone on to a higher one.
  bool HasStopped(const std::string& key, int64_t incarnation) const;

 private:
  std::map<std::string, PodDigest> pods_;
  std::map<std::string, WorkerDigest> workers_;
  std::map<std::string, RuntimeDigest> runtime_;
};

}  // namespace splitlet::sync_loop
