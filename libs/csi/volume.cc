#include "libs/csi/volume.h"

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "libs/csi/names.h"

namespace splitlet::csi {
namespace {

namespace core = k8s::io::api::core::v1;

std::optional<SecretName> NameIn(bool is_set, const core::SecretReference& reference) {
  if (!is_set) return std::nullopt;
  return SecretName{reference.namespace_(), reference.name()};
}

StatusOr<Volume> Checked(Volume volume) {
  if (const std::string wrong = CheckDriverName(volume.driver); !wrong.empty())
    return InvalidArgument("csi.driver: {}", wrong);
  if (const std::string wrong = CheckHandle(volume.handle); !wrong.empty())
    return InvalidArgument("csi.volumeHandle: {}", wrong);
  return volume;
}

}  // namespace

StatusOr<Volume> FromPersistentVolume(const core::PersistentVolume& persistent) {
  const auto& spec = persistent.spec();
  if (!spec.persistent_volume_source().has_csi())
    return InvalidArgument("persistent volume {} has no csi source", persistent.metadata().name());
  const core::CSIPersistentVolumeSource& csi = spec.persistent_volume_source().csi();
  Volume volume{.driver = csi.driver(), .handle = csi.volume_handle()};
  volume.spec = persistent.metadata().name();
  volume.fs_type = csi.fs_type();
  volume.attributes.insert(csi.volume_attributes().begin(), csi.volume_attributes().end());
  volume.access_modes.assign(spec.access_modes().begin(), spec.access_modes().end());
  volume.mount_options.assign(spec.mount_options().begin(), spec.mount_options().end());
  volume.block = spec.volume_mode() == "Block";
  volume.stage_secret = NameIn(csi.has_node_stage_secret_ref(), csi.node_stage_secret_ref());
  volume.publish_secret = NameIn(csi.has_node_publish_secret_ref(), csi.node_publish_secret_ref());
  volume.expand_secret = NameIn(csi.has_node_expand_secret_ref(), csi.node_expand_secret_ref());
  return Checked(std::move(volume));
}

StatusOr<Volume> FromInlineVolume(const core::CSIVolumeSource& source, const InlineOwner& owner) {
  Volume volume{.driver = source.driver(),
                .handle = EphemeralHandle(owner.pod_uid, owner.volume_name)};
  volume.spec = owner.volume_name;
  volume.fs_type = source.fs_type();
  volume.attributes.insert(source.volume_attributes().begin(), source.volume_attributes().end());
  volume.lifecycle = Lifecycle::kEphemeral;
  if (source.has_node_publish_secret_ref())
    volume.publish_secret = {owner.pod_namespace, source.node_publish_secret_ref().name()};
  return Checked(std::move(volume));
}

}  // namespace splitlet::csi
