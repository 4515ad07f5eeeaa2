#pragma once

/// The workers of this start of the process, one for each pod.
/// In:      PodWorkerService adds and erases; every class of this service that acts for a pod
///          finds.
/// Owns:    each Worker, by UID, and the order in which they came.
/// Killed:  rebuilt from the records on disk.
/// Threads: the loop's.
/// Errors:  none.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/pod-worker/pod/worker.h"

namespace splitlet::pod_worker {

class Workers {
 public:
  using Map = std::map<std::string, std::unique_ptr<Worker>>;

  Worker* Find(const std::string& uid) const;
  /// By the key of the table, which is not the UID when that is no plain one.
  Worker* FindByKey(const std::string& key) const;
  /// Replaces the worker of the same UID, if there is one.
  Worker& Add(std::unique_ptr<Worker> worker);
  void Erase(const std::string& uid);

  Map::const_iterator begin() const { return workers_.begin(); }
  Map::const_iterator end() const { return workers_.end(); }
  size_t size() const { return workers_.size(); }
  /// For loops that may add or erase.
  std::vector<std::string> Uids() const;

 private:
  Map workers_;
  std::map<std::string, std::string> uid_of_key_;
  uint64_t last_arrival_ = 0;
};

}  // namespace splitlet::pod_worker
