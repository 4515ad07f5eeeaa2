#include "services/pod-worker/sync/container_images.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

namespace {

bool Mounts(const kube::Container& container, const std::string& volume) {
  return std::ranges::any_of(container.volume_mounts(),
                             [&volume](const auto& mount) { return mount.name() == volume; });
}

}  // namespace

/// An image that was pulled for a container counts as used when the container lacks nothing any
/// more, whether it starts or not; so does an image for volumes.
std::optional<ContainerImageRefs> ContainerImages::Resolve(const kube::Container& container) {
  if (!EnsureVolumeImages(container.name())) return std::nullopt;
  ContainerImageRefs refs;
  bool all = true;
  for (const auto& [volume, answer] : volumes_) {
    if (!Mounts(container, volume)) continue;
    if (answer.failed) reports_.AwaitsImage(*answer.failed, container.name());
    all = all && answer.usable;
    refs.volumes[volume] = answer.ref;
  }
  if (!all) return std::nullopt;
  auto own = resolver_.Resolve(
      {container.image(), container.image_pull_policy(), container.name(), container.name()});
  if (own.failed) reports_.AwaitsImage(*own.failed, container.name());
  if (own.pulled) out_.used_pulls[container.image()] = {};
  if (!own.usable) return std::nullopt;
  UseVolumeImages();
  refs.own = std::move(own.ref);
  refs.image = std::move(own.image);
  return refs;
}

/// All image volumes of the pod, once in a sync (again only where an answer is kept for others) and
/// before anything starts: all are asked for before any is waited for. False: one is being pulled.
bool ContainerImages::EnsureVolumeImages(const std::string& container) {
  for (const auto& volume : context_.pod.spec().volumes()) {
    if (!volume.volume_source().has_image()) continue;
    const auto known = volumes_.find(volume.name());
    if (known != volumes_.end() &&
        (known->second.kept_for.empty() || known->second.kept_for.contains(container)))
      continue;
    const auto& source = volume.volume_source().image();
    auto answer = resolver_.Resolve({source.reference(), source.pull_policy(), "", container});
    if (answer.failed) out_.used_pulls[source.reference()] = {};
    volumes_.insert_or_assign(volume.name(), std::move(answer));
  }
  return std::ranges::all_of(
      volumes_, [](const auto& volume) { return volume.second.usable || volume.second.failed; });
}

/// By a container that has all its images.
void ContainerImages::UseVolumeImages() {
  for (const auto& volume : context_.pod.spec().volumes()) {
    const auto answer = volumes_.find(volume.name());
    if (answer != volumes_.end() && answer->second.pulled)
      used_for_volumes_.insert(volume.volume_source().image().reference());
  }
}

void ContainerImages::MarkVolumeImagesUsed() {
  std::set<std::string> waiting;
  for (const auto* images : {&out_.pulls, &out_.awaited})
    for (const auto& [image, containers] : *images)
      waiting.insert(containers.begin(), containers.end());
  waiting.erase("");
  for (const auto& image : used_for_volumes_) out_.used_pulls[image] = waiting;
}

}  // namespace splitlet::pod_worker
