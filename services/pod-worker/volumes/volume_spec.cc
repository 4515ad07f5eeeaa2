#include "services/pod-worker/volumes/volume_spec.h"

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"

namespace splitlet::pod_worker {

namespace {

std::string SetFieldOf(const google::protobuf::Message& source) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  source.GetReflection()->ListFields(source, &set);
  return set.empty() ? "none" : set.front()->json_name();
}

}  // namespace

const std::string& VolumeSpec::name() const {
  return persistent != nullptr ? persistent->metadata().name() : volume.name();
}

const VolumeSource& VolumeSpec::own() const { return volume.volume_source(); }

const PersistentVolumeSource* VolumeSpec::source() const {
  return persistent != nullptr ? &persistent->spec().persistent_volume_source() : nullptr;
}

std::string VolumeSpec::kind() const {
  if (const auto* behind = source(); behind != nullptr) return SetFieldOf(*behind);
  return SetFieldOf(own());
}

bool VolumeSpec::read_only() const { return own().persistent_volume_claim().read_only(); }

std::vector<std::string> VolumeSpec::mount_options() const {
  if (persistent == nullptr) return {};
  const auto& options = persistent->spec().mount_options();
  return {options.begin(), options.end()};
}

std::vector<std::string> VolumeSpec::access_modes() const {
  if (persistent == nullptr) return {};
  const auto& modes = persistent->spec().access_modes();
  return {modes.begin(), modes.end()};
}

bool VolumeSpec::is_block() const {
  return persistent != nullptr && persistent->spec().volume_mode() == "Block";
}

}  // namespace splitlet::pod_worker
