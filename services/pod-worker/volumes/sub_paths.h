#pragma once

/// Parts of volumes that containers mount (subPath, subPathExpr). Each part is first bound below
/// the pod's directory, and the runtime mounts that bind. So a later change of the path in the
/// volume, such as a symbolic link, has no effect.
/// Owns:    nothing in memory: the binds are in the kernel, their names on the disk.
/// Killed:  a container's next start binds again; the pod's end releases all binds.
/// Threads: any, one call for a pod at a time; blocks on files and mounts.
/// Errors:  a kubelet's texts, which hide paths of the host; the reason is in the log.
/// Source:  docs/behaviour/volumes.md, "subPath"; kubelet subpath.

#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

struct SubPath {
  int mount = 0;  // index in the container's volumeMounts
  std::string volume, path;
  bool operator==(const SubPath&) const = default;
};
/// `environment`: of the container, for expressions.
StatusOr<std::vector<SubPath>> SubPathsOf(const kube::Container& container,
                                          const std::map<std::string, std::string>& environment);
bool HasSubPathExpr(const kube::Container& container);

class SubPaths {
 public:
  struct Deps {
    fs::FileSystem& files;
    fs::Mounts& mounts;
    const Log& log;
  };
  explicit SubPaths(Deps deps) : deps_(deps) {}

  struct Request {
    const kube::Container& container;
    const std::map<std::string, std::string>& volumes;  // name -> path on the host
    const std::map<std::string, std::string>& environment;
    const std::string& pod_dir;
  };
  /// Index in the container's volumeMounts -> the path for the runtime. Missing volumes are left
  /// out.
  StatusOr<std::map<int, std::string>> Bind(const Request& request);
  /// Unbinds all parts of the pod. Never reads a bound directory.
  Status Release(const std::string& pod_dir);

 private:
  const Deps deps_;
};

}  // namespace splitlet::pod_worker
