#include "services/pod-worker/pod/observed.h"

#include <algorithm>

#include "libs/cri/container_end.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

using v1::ContainerRecord;
using v1::ObservedPod;

const ContainerRecord* NewestRecord(const ObservedPod& seen, const std::string& name) {
  for (const auto& record : seen.containers())
    if (record.name() == name) return &record;
  return nullptr;
}

bool HasFailed(const ContainerRecord& record) {
  if (record.state() == ContainerRecord::UNKNOWN) return true;
  return cri::EndedForMemory(record) ||
         (record.state() == ContainerRecord::EXITED && record.exit_code() != 0);
}

std::string PodIpOf(const v1::ObservedPod& seen) {
  if (seen.sandboxes_size() == 0 || seen.sandboxes(0).ips_size() == 0) return "";
  return seen.sandboxes(0).ips(0);
}

bool AnyRunning(const ObservedPod& seen) {
  return std::any_of(
      seen.containers().begin(), seen.containers().end(),
      [](const ContainerRecord& record) { return record.state() == ContainerRecord::RUNNING; });
}

void MergeObservation(const v1::ObservedPod& before, v1::ObservedPod& now) {
  for (auto& sandbox : *now.mutable_sandboxes())
    for (const auto& old : before.sandboxes())
      if (old.id() == sandbox.id() && sandbox.ips_size() == 0) *sandbox.mutable_ips() = old.ips();
  for (const auto& old : before.sandboxes()) {
    const bool known =
        std::any_of(now.sandboxes().begin(), now.sandboxes().end(),
                    [&old](const auto& sandbox) { return sandbox.id() == old.id(); });
    if (!known) *now.add_sandboxes() = old;
  }
  for (const auto& old : before.containers()) {
    const bool known =
        std::any_of(now.containers().begin(), now.containers().end(), [&old](const auto& record) {
          return record.id() == old.id() && record.name() == old.name();  // lost ones have no id
        });
    if (!known) *now.add_containers() = old;
  }
  std::stable_sort(now.mutable_containers()->begin(), now.mutable_containers()->end(),
                   [](const auto& a, const auto& b) { return a.attempt() > b.attempt(); });
  if (now.name().empty()) now.set_name(before.name());
  if (now.namespace_().empty()) now.set_namespace_(before.namespace_());
  if (now.runtime_name().empty()) now.set_runtime_name(before.runtime_name());
}

std::shared_ptr<const v1::ObservedPod> KnownRunning(const v1::ObservedPod& seen) {
  auto running = std::make_shared<v1::ObservedPod>();
  for (const auto& record : seen.containers())
    if (record.state() == v1::ContainerRecord::RUNNING) *running->add_containers() = record;
  return running;
}

}  // namespace splitlet::pod_worker
