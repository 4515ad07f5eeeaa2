#include "libs/csi/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "libs/base/sha256.h"
#include "libs/base/text.h"
#include "libs/kube/names.h"

namespace splitlet::csi {
namespace {

constexpr size_t kMaxDriverName = 63;
constexpr std::string_view kEscapedPlugin = "kubernetes.io~csi";

template <class... Parts>
std::string Joined(const Parts&... parts) {
  std::string all;
  (all.append(parts), ...);
  return all;
}

}  // namespace

std::string CheckDriverName(std::string_view name) {
  if (name.empty()) return "the name of the driver is empty";
  if (name.size() > kMaxDriverName)
    return fmt::format("the name of the driver is longer than {} characters", kMaxDriverName);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kube::CheckDnsSubdomain(lower);
}

std::string CheckHandle(std::string_view handle) {
  if (handle.empty()) return "the handle of the volume is empty";
  if (handle.size() > kMaxTextBytes)
    return fmt::format("the handle of the volume is longer than {} bytes", kMaxTextBytes);
  if (!IsText(handle)) return "the handle of the volume is not UTF-8 without NUL";
  return "";
}

std::string EphemeralHandle(std::string_view pod_uid, std::string_view volume_name) {
  return "csi-" + Sha256Hex(Joined(pod_uid, volume_name));
}

std::string AttachmentName(std::string_view handle, std::string_view driver,
                           std::string_view node_name) {
  return "csi-" + Sha256Hex(Joined(handle, driver, node_name));
}

std::string UniqueName(std::string_view driver, std::string_view handle) {
  return Joined(kPluginName, "/", driver, "^", handle);
}

std::string EscapeName(std::string_view name) {
  std::string escaped(name);
  std::replace(escaped.begin(), escaped.end(), '/', '~');
  return escaped;
}

std::string Paths::StagingDir(std::string_view driver, std::string_view handle) const {
  return Joined(root_, "/plugins/", kPluginName, "/", driver, "/", Sha256Hex(handle));
}

std::string Paths::GlobalMount(std::string_view driver, std::string_view handle) const {
  return StagingDir(driver, handle) + "/globalmount";
}

std::string Paths::PodVolumeDir(std::string_view pod_uid, std::string_view spec) const {
  return Joined(root_, "/pods/", pod_uid, "/volumes/", kEscapedPlugin, "/", EscapeName(spec));
}

std::string Paths::PodMount(std::string_view pod_uid, std::string_view spec) const {
  return PodVolumeDir(pod_uid, spec) + "/mount";
}

std::string Paths::Block(std::string_view rest) const {
  return Joined(root_, "/plugins/", kPluginName, "/volumeDevices/", rest);
}

std::string Paths::BlockDataDir(std::string_view spec) const {
  return Block(EscapeName(spec) + "/data");
}

std::string Paths::BlockStaging(std::string_view spec) const {
  return Block("staging/" + EscapeName(spec));
}

std::string Paths::BlockPublish(std::string_view spec, std::string_view pod_uid) const {
  return Block(Joined("publish/", EscapeName(spec), "/", pod_uid));
}

std::string Paths::BlockMapDir(std::string_view spec) const {
  return Block(EscapeName(spec) + "/dev");
}

std::string Paths::PodDevice(std::string_view pod_uid, std::string_view spec) const {
  return Joined(root_, "/pods/", pod_uid, "/volumeDevices/", kEscapedPlugin, "/", EscapeName(spec));
}

}  // namespace splitlet::csi
