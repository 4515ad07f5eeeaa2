#include "services/pod-worker/volumes/csi/csi_volumes.h"

#include <utility>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"

namespace splitlet::pod_worker {

CsiVolumes::CsiVolumes(CsiDeps deps, const std::string& root_dir, Out out)
    : volumes_(deps, root_dir,
               {.mounted = [this](const PodVolumeKey& key,
                                  const SetUpResult& result) { desk_.OnMounted(key, result); },
                .unmounted = [this](const PodVolumeKey& key,
                                    const Status& result) { desk_.OnUnmounted(key, result); },
                .released = [this](const std::string& uid) { desk_.OnReleased(uid); },
                .in_use = std::move(out.in_use)}),
      desk_(deps.env.loop, deps.env.strands,
            {.on_wish = [this](const PodVolumeKey& key, Wish wish,
                               bool again) { volumes_.OnWish(key, std::move(wish), again); },
             .on_unmount =
                 [this](const PodVolumeKey& key, const std::string& directory) {
                   volumes_.OnUnmount(key, directory);
                 },
             .on_release = [this](const std::string& uid) { volumes_.OnRelease(uid); },
             .wake = std::move(out.wake)}) {}

bool CsiVolumes::Takes(const VolumeSpec& spec) const {
  const auto* const behind = spec.source();
  return behind != nullptr ? behind->has_csi() : spec.own().has_csi();
}

StatusOr<VolumeSpec> CsiVolumes::Translate(VolumeSpec spec, const kube::Pod& pod) const {
  return Translated(std::move(spec), pod.metadata().namespace_());
}

StatusOr<std::string> CsiVolumes::HostPath(const VolumeSpec&, const VolumePlace& place) const {
  return TargetOf(place.path);
}

SetUpResult CsiVolumes::SetUp(const VolumeSpec& spec, const VolumeInput& in,
                              const VolumePlace& place) {
  auto wish = WishOf(spec, in.pod, place);
  if (!wish.ok()) return {VolumeStep::kMakeMounter, wish.status()};
  return desk_.Mount(KeyOf(place), *std::move(wish), in.for_start);
}

StatusOr<Progress> CsiVolumes::Release(const VolumePlace& folder) {
  return desk_.Release(folder.pod_uid);
}

StatusOr<Progress> CsiVolumes::TearDown(const VolumePlace& place) {
  return desk_.Unmount(KeyOf(place), place.path);
}

}  // namespace splitlet::pod_worker
