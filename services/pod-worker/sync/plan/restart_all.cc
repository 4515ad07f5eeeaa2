#include "services/pod-worker/sync/plan/restart_all.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/cri/observe.h"
#include "libs/kube/restart_policy.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

using v1::ContainerRecord;

template <class List>
bool Contains(const List& containers, const std::string& name) {
  return std::any_of(containers.begin(), containers.end(),
                     [&name](const kube::Container& one) { return one.name() == name; });
}

struct Records {
  std::vector<std::string> others, saying;
};

template <class List>
Records RecordsOf(const List& containers, const v1::ObservedPod& seen) {
  Records records;
  for (const kube::Container& container : containers)
    for (const auto& record : seen.containers()) {
      if (record.name() != container.name() || cri::IsLost(record)) continue;
      (cri::RestartsAll(container, record) ? records.saying : records.others)
          .push_back(record.id());
    }
  return records;
}

void Append(const std::vector<std::string>& from, std::vector<std::string>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::optional<RestartAll> ComputeRestartAll(const kube::Pod& pod, const v1::ObservedPod& seen,
                                            const std::set<std::string>& stopped) {
  if (!kube::MayRestartAll(pod)) return std::nullopt;
  const Records regular = RecordsOf(pod.spec().containers(), seen);
  const Records init = RecordsOf(pod.spec().init_containers(), seen);
  if (regular.saying.empty() && init.saying.empty()) return std::nullopt;
  RestartAll all;
  for (const auto& record : seen.containers()) {
    if (!Contains(pod.spec().containers(), record.name()) &&
        !Contains(pod.spec().init_containers(), record.name()))
      continue;  // an ephemeral one runs on
    const bool unknown =
        record.state() == ContainerRecord::UNKNOWN && !stopped.contains(record.id());
    if (record.state() == ContainerRecord::RUNNING || unknown)
      all.stop.push_back({record.id(), record.name(), "killing", unknown});
  }
  Append(regular.others, all.remove);
  Append(init.others, all.remove);
  Append(regular.saying, all.remove_last);
  Append(init.saying, all.remove_last);
  return all;
}

}  // namespace splitlet::pod_worker
