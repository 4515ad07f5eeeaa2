#include "services/pod-worker/volumes/volume_spec.h"

#include <charconv>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr std::string_view kGroup = "pv.beta.kubernetes.io/gid";

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

std::optional<int64_t> VolumeSpec::group() const {
  if (persistent == nullptr) return std::nullopt;
  const auto& annotations = persistent->metadata().annotations();
  const auto found = annotations.find(std::string(kGroup));
  if (found == annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  int32_t group = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group);
  if (error != std::errc() || end != text.data() + text.size() || group < 0) return std::nullopt;
  return group;
}

bool VolumeSpec::is_block() const {
  return persistent != nullptr && persistent->spec().volume_mode() == "Block";
}

}  // namespace splitlet::pod_worker
