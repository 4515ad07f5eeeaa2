#pragma once

/// The records of each pod in the views, parsed once per change. It decides nothing.
/// In:    changes of `desired`, `workers` and `runtime`, from SyncLoopService alone.
/// Owns:  a digest of each record, by key.
/// Out:   nothing; admission, grants and orphans read it.
/// Killed at any line: nothing is lost; the views are listed again.
/// Threads: loop thread only.
/// Errors: a record that cannot be parsed is present with state kUnknown; it starts and stops
/// nothing.
/// Source: docs/safety.md, rules 7 and 11.

#include <map>
#include <string>

#include "libs/bus/typed.h"
#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::sync_loop {

class KnownPods {
 public:
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void OnWorker(const bus::View<v1::WorkerRecord>::Change& change);
  void OnRuntime(const bus::View<v1::RuntimeRecord>::Change& change);

  /// nullptr: there is no record. That means nothing while the view is incomplete.
  const PodDigest* Pod(const std::string& key) const;
  const WorkerDigest* Worker(const std::string& key) const;
  const std::map<std::string, PodDigest>& pods() const { return pods_; }
  const std::map<std::string, WorkerDigest>& workers() const { return workers_; }
  const std::map<std::string, RuntimeDigest>& runtime() const { return runtime_; }

  bool IsRunning(const std::string& key) const;
  /// The worker terminated this incarnation, or has a higher one.
  bool HasStopped(const std::string& key, int64_t incarnation) const;

 private:
  std::map<std::string, PodDigest> pods_;
  std::map<std::string, WorkerDigest> workers_;
  std::map<std::string, RuntimeDigest> runtime_;
};

}  // namespace splitlet::sync_loop
