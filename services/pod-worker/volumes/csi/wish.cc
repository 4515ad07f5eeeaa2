#include "services/pod-worker/volumes/csi/wish.h"

#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/csi/translation.h"
#include "libs/fs/path.h"
#include "services/pod-worker/volumes/volume_dirs.h"

namespace splitlet::pod_worker {

PodVolumeKey KeyOf(const VolumePlace& place) {
  return {place.pod_uid, std::string(fs::NameOf(place.path))};
}

std::string TargetOf(const std::string& directory) { return directory + "/mount"; }

StatusOr<Wish> WishOf(const VolumeSpec& spec, const kube::Pod& pod, const VolumePlace& place) {
  const auto& meta = pod.metadata();
  auto volume = spec.persistent != nullptr
                    ? csi::FromPersistentVolume(*spec.persistent)
                    : csi::FromInlineVolume(spec.own().csi(),
                                            {meta.uid(), meta.namespace_(), spec.volume.name()});
  if (!volume.ok()) return volume.status();
  return Wish{
      .volume = *std::move(volume),
      .directory = place.path,
      .read_only = spec.persistent != nullptr ? spec.read_only() : spec.own().csi().read_only(),
      .fs_group = FsGroupOf(pod),
      .only_if_other_group =
          pod.spec().security_context().fs_group_change_policy() == "OnRootMismatch",
      .pod = {.name = meta.name(),
              .namespace_ = meta.namespace_(),
              .uid = meta.uid(),
              .service_account = pod.spec().service_account_name()}};
}

StatusOr<VolumeSpec> Translated(VolumeSpec spec, const std::string& pod_namespace) {
  const auto* const behind = spec.source();
  const bool persistent = behind != nullptr && csi::IsTranslated(*behind);
  if (!persistent && (behind != nullptr || !csi::IsTranslated(spec.own()))) return spec;
  auto made = persistent ? csi::TranslatePersistentVolume(*spec.persistent)
                         : csi::TranslateInline(spec.volume, pod_namespace);
  if (!made.ok()) return made.status();
  VolumeSpec translated{spec.volume, std::move(spec.claim)};
  translated.persistent = std::make_shared<const PersistentVolume>(*std::move(made));
  return translated;
}

}  // namespace splitlet::pod_worker
