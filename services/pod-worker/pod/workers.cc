#include "services/pod-worker/pod/workers.h"

#include <utility>

#include "libs/bus/bus.h"

namespace splitlet::pod_worker {

Worker* Workers::Find(const std::string& uid) const {
  const auto found = workers_.find(uid);
  return found == workers_.end() ? nullptr : found->second.get();
}

Worker* Workers::FindByKey(const std::string& key) const {
  const auto uid = uid_of_key_.find(key);
  return uid == uid_of_key_.end() ? nullptr : Find(uid->second);
}

Worker& Workers::Add(std::unique_ptr<Worker> worker) {
  worker->arrival = ++last_arrival_;
  uid_of_key_[bus::KeyOf(worker->uid)] = worker->uid;
  auto& slot = workers_[worker->uid];
  slot = std::move(worker);
  return *slot;
}

void Workers::Erase(const std::string& uid) {
  uid_of_key_.erase(bus::KeyOf(uid));
  workers_.erase(uid);
}

std::vector<std::string> Workers::Uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, worker] : workers_) uids.push_back(uid);
  return uids;
}

}  // namespace splitlet::pod_worker
