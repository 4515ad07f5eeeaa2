#include "services/pod-worker/volumes/host_path.h"

#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/kube/names.h"

namespace splitlet::pod_worker {

namespace {

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

bool HostPathVolume::Takes(const VolumeSource& source) const { return source.has_host_path(); }

StatusOr<std::string> HostPathVolume::HostPath(const VolumeSource& source) const {
  const std::string& path = source.host_path().path();
  if (kube::HasParentStep(path))
    return InvalidArgument("invalid HostPath `{}`: must not contain '..'", path);
  return path;
}

Status HostPathVolume::SetUp(const kube::Volume& volume, const VolumeInput&,
                             const std::string& path) {
  const std::string& type = volume.volume_source().host_path().type();
  if (type.empty()) return OkStatus();
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
  return OkStatus();
}

}  // namespace splitlet::pod_worker
