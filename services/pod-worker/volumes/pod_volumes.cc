#include "services/pod-worker/volumes/pod_volumes.h"

#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::HostPathVolumeSource;

constexpr std::string_view kEmptyDir = "volumes/kubernetes.io~empty-dir";
constexpr uint32_t kEmptyDirMode = 0777;
constexpr uint32_t kPodDirMode = 0750;

std::string EmptyDirPath(const std::string& pod_dir, const std::string& volume) {
  return fmt::format("{}/{}/{}", pod_dir, kEmptyDir, volume);
}

bool HasDotDot(const std::string& path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string::npos;
}

std::string KindOf(const kube::Volume& volume) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  const auto& source = volume.volume_source();
  source.GetReflection()->ListFields(source, &set);
  return set.empty() ? "none" : set.front()->json_name();
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

Status EnsureHostPath(const HostPathVolumeSource& source, fs::FileSystem& files) {
  if (source.type().empty()) return OkStatus();
  auto info = files.Stat(source.path(), true);
  const bool create = source.type().ends_with("OrCreate");
  if (create && info.status().code() == StatusCode::kNotFound) {
    if (source.type() == "DirectoryOrCreate") {
      RETURN_IF_ERROR(files.MakeDirs(source.path(), 0755), "make {}", source.path());
    } else {
      const std::string parent = source.path().substr(0, source.path().rfind('/'));
      RETURN_IF_ERROR(files.Stat(parent, true), "parent of {}", source.path());
      RETURN_IF_ERROR(files.Replace(source.path(), "", {.mode = 0644}), "make {}", source.path());
    }
    info = files.Stat(source.path(), true);
  }
  if (!info.ok() || !IsKind(*info, source.type()))
    return FailedPrecondition("hostPath type check failed: {} is not {}", source.path(),
                              InWords(source.type()));
  return OkStatus();
}

Status EnsureVolume(const kube::Volume& volume, const std::string& pod_dir, fs::FileSystem& files) {
  const auto& source = volume.volume_source();
  if (source.has_host_path()) return EnsureHostPath(source.host_path(), files);
  if (!source.has_empty_dir()) return OkStatus();
  RETURN_IF_ERROR(files.MakeDirs(fmt::format("{}/{}", pod_dir, kEmptyDir), kPodDirMode),
                  "make volumes directory");
  RETURN_IF_ERROR(files.MakeDirs(EmptyDirPath(pod_dir, volume.name()), kEmptyDirMode),
                  "make directory");
  return OkStatus();
}

}  // namespace

StatusOr<std::map<std::string, std::string>> VolumePaths(const kube::Pod& pod,
                                                         const std::string& pod_dir) {
  std::map<std::string, std::string> paths;
  for (const auto& volume : pod.spec().volumes()) {
    const auto& source = volume.volume_source();
    if (source.has_host_path()) {
      if (HasDotDot(source.host_path().path()))
        return InvalidArgument("invalid HostPath `{}`: must not contain '..'",
                               source.host_path().path());
      paths[volume.name()] = source.host_path().path();
    } else if (source.has_empty_dir()) {
      if (!source.empty_dir().medium().empty())
        return InvalidArgument("volume type \"emptyDir with medium {}\" is not supported",
                               source.empty_dir().medium());
      paths[volume.name()] = EmptyDirPath(pod_dir, volume.name());
    } else {
      return InvalidArgument("volume type \"{}\" is not supported", KindOf(volume));
    }
  }
  return paths;
}

Status EnsureVolumes(const kube::Pod& pod, const std::string& pod_dir, fs::FileSystem& files) {
  FAIL_POINT("pod-worker.ensure-volumes.before");
  RETURN_IF_ERROR(files.MakeDirs(pod_dir, kPodDirMode), "error making pod data directories");
  for (const auto& volume : pod.spec().volumes()) {
    const Status made = EnsureVolume(volume, pod_dir, files);
    if (!made.ok())
      return MakeStatus(made.code(), "MountVolume.SetUp failed for volume \"{}\" : {}",
                        volume.name(), Message(made));
  }
  FAIL_POINT("pod-worker.ensure-volumes.after");
  return OkStatus();
}

Status MarkPod(const std::string& uid, const node::PodRoots& roots, const node::PodMark& mark,
               fs::FileSystem& files) {
  FAIL_POINT("pod-worker.mark-pod.before");
  RETURN_IF_ERROR(node::MarkPodPlace(files, roots, uid, mark), "error making pod data directories");
  FAIL_POINT("pod-worker.mark-pod.after");
  return OkStatus();
}

Status RemoveVolumesOf(const std::string& uid, const std::string& source,
                       const node::PodRoots& roots, fs::FileSystem& files) {
  ASSIGN_OR_RETURN(const auto place, node::FindPodPlace(files, roots, uid), "pod directory");
  if (!place.ours) {
    const auto there = files.Stat(place.path, false);
    if (there.status().code() == StatusCode::kNotFound) return OkStatus();
    RETURN_IF_ERROR(there, "look at {}", place.path);
    RETURN_IF_ERROR(MarkPod(uid, roots, {place.path, source}, files), "mark of the pod");
  }
  return RemoveVolumes(place.path, files);
}

Status RemoveVolumes(const std::string& pod_dir, fs::FileSystem& files) {
  FAIL_POINT("pod-worker.remove-volumes.before");
  RETURN_IF_ERROR(files.RemoveTree(fmt::format("{}/{}", pod_dir, kEmptyDir)),
                  "remove emptyDir volumes");
  FAIL_POINT("pod-worker.remove-volumes.after");
  return OkStatus();
}

}  // namespace splitlet::pod_worker
