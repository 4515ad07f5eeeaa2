#include "services/node-api/pods/pod_views.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"

namespace splitlet::node_api {
namespace {

bool IsShown(const v1::DesiredRecord& record) {
  return record.state() != v1::DesiredRecord::REMOVED &&
         record.state() != v1::DesiredRecord::MIRROR;
}

}  // namespace

PodSeen PodViews::SeenOf(const std::shared_ptr<const v1::DesiredRecord>& desired) const {
  const std::string key(bus::KeyOf(desired->uid()));
  return {
      .desired = desired, .status = views_.status.Find(key), .runtime = views_.runtime.Find(key)};
}

std::vector<PodSeen> PodViews::All() const {
  std::vector<PodSeen> all;
  views_.desired.ForEach([&](const std::string&, const auto& record) {
    if (record != nullptr && IsShown(*record)) all.push_back(SeenOf(record));
  });
  return all;
}

StatusOr<PodSeen> PodViews::Find(const std::string& name_space, const std::string& name) const {
  std::shared_ptr<const v1::DesiredRecord> found;
  views_.desired.ForEach([&](const std::string&, const auto& record) {
    if (record == nullptr || record->name() != name || record->namespace_() != name_space ||
        record->state() == v1::DesiredRecord::MIRROR)
      return;
    // A wanted pod wins over a removed one of the same name.
    if (found == nullptr || IsShown(*record)) found = record;
  });
  if (found == nullptr) return NotFound("pod does not exist");
  return SeenOf(found);
}

std::vector<std::shared_ptr<const v1::RuntimeRecord>> PodViews::Runtime() const {
  std::vector<std::shared_ptr<const v1::RuntimeRecord>> all;
  views_.runtime.ForEach([&](const std::string&, const auto& record) {
    if (record != nullptr) all.push_back(record);
  });
  return all;
}

std::string PodViews::problem() const {
  if (!views_.desired.was_live()) return "the list of pods has not arrived yet";
  if (!views_.runtime.was_live()) return "the runtime's list has not arrived yet";
  if (!views_.status.was_live()) return "the list of statuses has not arrived yet";
  return "";
}

void PodViews::OnRuntime(std::function<void()> changed) {
  views_.runtime.OnChange([changed = std::move(changed)](const auto&) { changed(); });
}

std::shared_ptr<kube::Pod> PodOf(const PodSeen& seen) {
  auto parsed = kube::ParsePod(seen.desired->pod());
  if (!parsed.ok()) return nullptr;
  auto pod = std::make_shared<kube::Pod>(*std::move(parsed));
  if (seen.status != nullptr && seen.status->incarnation() == seen.desired->incarnation())
    if (kube::PodStatus status; status.ParseFromString(seen.status->status()))
      *pod->mutable_status() = std::move(status);
  return pod;
}

std::string RunningContainer(const PodSeen& seen, const std::string& name) {
  if (seen.runtime == nullptr) return "";
  for (const auto& container : seen.runtime->pod().containers())
    if (container.name() == name && container.state() == v1::ContainerRecord::RUNNING)
      return container.id();
  return "";
}

bool Runs(const v1::RuntimeRecord& record, const std::string& container_id) {
  return std::ranges::any_of(record.pod().containers(), [&](const auto& container) {
    return container.id() == container_id && container.state() == v1::ContainerRecord::RUNNING;
  });
}

}  // namespace splitlet::node_api
