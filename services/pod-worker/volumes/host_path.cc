#include "services/pod-worker/volumes/host_path.h"

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/kube/names.h"

namespace splitlet::pod_worker {

namespace {

const k8s::io::api::core::v1::HostPathVolumeSource& PathOnHost(const VolumeSpec& spec) {
  const auto* behind = spec.source();
  return behind != nullptr ? behind->host_path() : spec.own().host_path();
}

bool IsKind(const fs::FileInfo& info, const std::string& type) {
  if (type.starts_with("Directory")) return info.kind == fs::FileInfo::Kind::kDirectory;
  if (type.starts_with("File")) return info.kind == fs::FileInfo::Kind::kFile;
  if (type == "Socket") return info.kind == fs::FileInfo::Kind::kSocket;
  if (type == "CharDevice") return info.kind == fs::FileInfo::Kind::kCharDevice;
  return info.kind == fs::FileInfo::Kind::kBlockDevice;
}

std::string_view InWords(const std::string& type) {
  if (type.starts_with("Directory")) return "a directory";
  if (type.starts_with("File")) return "a file";
  if (type == "Socket") return "a socket file";
  return type == "CharDevice" ? "a character device" : "a block device";
}

}  // namespace

bool HostPathVolume::Takes(const VolumeSpec& spec) const {
  const auto* behind = spec.source();
  return behind != nullptr ? behind->has_host_path() : spec.own().has_host_path();
}

StatusOr<std::string> HostPathVolume::HostPath(const VolumeSpec& spec, const VolumePlace&) const {
  const std::string& path = PathOnHost(spec).path();
  if (kube::HasParentStep(path))
    return InvalidArgument("invalid HostPath `{}`: must not contain '..'", path);
  return path;
}

SetUpResult HostPathVolume::SetUp(const VolumeSpec& spec, const VolumeInput&, const VolumePlace&) {
  const std::string& path = PathOnHost(spec).path();
  const std::string& type = PathOnHost(spec).type();
  if (type.empty()) return Progress::kDone;
  auto info = files_.Stat(path, true);
  if (type.ends_with("OrCreate") && info.status().code() == StatusCode::kNotFound) {
    if (type == "DirectoryOrCreate") {
      RETURN_IF_ERROR(files_.MakeDirs(path, 0755), "make {}", path);
    } else {
      RETURN_IF_ERROR(make_file_(path, 0644), "make {}", path);
    }
    info = files_.Stat(path, true);
  }
  if (!info.ok() || !IsKind(*info, type))
    return FailedPrecondition("hostPath type check failed: {} is not {}", path, InWords(type));
  return Progress::kDone;
}

}  // namespace splitlet::pod_worker
