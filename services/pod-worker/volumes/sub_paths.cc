#include "services/pod-worker/volumes/sub_paths.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/container.pb.h"
#include "libs/kube/names.h"
#include "services/pod-worker/runtime_config/environment.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kSubPathMode = 0750;

std::string RootOf(const std::string& pod_dir) { return pod_dir + "/volume-subpaths"; }

/// An empty value counts as missing, because the path would be a different one.
StatusOr<std::string> ExpandAll(const std::string& expression,
                                const std::map<std::string, std::string>& environment) {
  std::set<std::string> missing;
  std::string path = Expand(expression, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
    missing.insert(name);
    return std::nullopt;
  });
  if (missing.empty()) return path;
  return InvalidArgument("missing value for {}", fmt::join(missing, ", "));
}

}  // namespace

bool HasSubPathExpr(const kube::Container& container) {
  return std::ranges::any_of(container.volume_mounts(),
                             [](const auto& mount) { return !mount.sub_path_expr().empty(); });
}

StatusOr<std::vector<SubPath>> SubPathsOf(const kube::Container& container,
                                          const std::map<std::string, std::string>& environment) {
  std::vector<SubPath> parts;
  for (int i = 0; i < container.volume_mounts_size(); ++i) {
    const auto& mount = container.volume_mounts(i);
    std::string path = mount.sub_path();
    if (!mount.sub_path_expr().empty()) {
      auto expanded = ExpandAll(mount.sub_path_expr(), environment);
      if (!expanded.ok()) return expanded.status();
      path = *std::move(expanded);
    }
    if (path.empty()) continue;
    if (path.front() == '/')
      return InvalidArgument("error SubPath `{}` must not be an absolute path", path);
    if (kube::HasParentStep(path))
      return InvalidArgument("unable to provision SubPath `{}`: must not contain '..'", path);
    parts.push_back({i, mount.name(), std::move(path)});
  }
  return parts;
}

StatusOr<std::map<int, std::string>> SubPaths::Bind(const Request& request) {
  const std::string& container = request.container.name();
  auto parts = SubPathsOf(request.container, request.environment);
  if (!parts.ok()) return parts.status();
  std::map<int, std::string> bound;
  for (const auto& part : *parts) {
    const auto volume = request.volumes.find(part.volume);
    if (volume == request.volumes.end()) continue;
    const std::string dir =
        fmt::format("{}/{}/{}", RootOf(request.pod_dir), part.volume, container);
    const std::string target = fmt::format("{}/{}", dir, part.mount);
    Status done = deps_.files.MakeDirs(dir, kSubPathMode);
    bool not_made = false;
    if (done.ok()) {
      done = deps_.mounts.MakeWithin(volume->second, part.path);
      // A path outside of the volume reads as a kubelet's "prepare".
      not_made = !done.ok() && done.code() != StatusCode::kOutOfRange;
    }
    if (done.ok()) done = deps_.mounts.BindWithin({volume->second, part.path, target});
    if (!done.ok()) {
      deps_.log.Warn(
          not_made ? "cannot make the directory of a subPath, the container will be tried again"
                   : "cannot bind a subPath, the container will be tried again",
          {KV("volumeName", part.volume), KV("containerName", container), KV("path", part.path),
           KV("target", target), KV("err", done)});
      return MakeStatus(done.code(), "failed to {} for volumeMount \"{}\" of container \"{}\"",
                        not_made ? "create subPath directory" : "prepare subPath", part.volume,
                        container);
    }
    bound[part.mount] = target;
  }
  return bound;
}

Status SubPaths::Release(const std::string& pod_dir) {
  const std::string root = RootOf(pod_dir);
  const auto volumes = deps_.files.List(root);
  if (volumes.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(volumes, "list {}", root);
  for (const auto& volume : *volumes) {
    const std::string of_volume = root + "/" + volume.name;
    ASSIGN_OR_RETURN(const auto containers, deps_.files.List(of_volume), "list {}", of_volume);
    for (const auto& container : containers) {
      const std::string dir = of_volume + "/" + container.name;
      ASSIGN_OR_RETURN(const auto targets, deps_.files.List(dir), "list {}", dir);
      for (const auto& target : targets) {
        const std::string path = dir + "/" + target.name;
        RETURN_IF_ERROR(deps_.mounts.Unmount(path), "unmount {}", path);
        RETURN_IF_ERROR(deps_.files.Remove(path), "remove {}", path);
      }
      RETURN_IF_ERROR(deps_.files.Remove(dir), "remove {}", dir);
    }
    RETURN_IF_ERROR(deps_.files.Remove(of_volume), "remove {}", of_volume);
  }
  return Annotate(deps_.files.Remove(root), "remove the directory of subPaths");
}

}  // namespace splitlet::pod_worker
