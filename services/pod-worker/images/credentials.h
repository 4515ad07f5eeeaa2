#pragma once

/// Where the credentials for an image come from: the pull secrets of its pod, then the docker
/// configuration of the node.
/// Threads: any; NodeCredentials blocks on files.
/// Errors:  what is wrong with a secret or file, by its name; never a part of its content.
/// Source:  docs/behaviour/images.md, "Credentials".

#include <optional>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/images/keyring.h"
#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

struct PullSecrets {
  Keyring keyring;
  std::vector<std::string> missing;  // names of secrets that cannot be had
};

/// `objects`: null: this node has none. One that cannot be understood fails them all.
StatusOr<PullSecrets> PullSecretsOf(const kube::Pod& pod, const ObjectSource* objects);

/// Unset: it has none, or nobody knows whether plugins may be told of it.
std::optional<AccountRef> AccountOf(const kube::Pod& pod, const ObjectSource* objects);

/// Of the files that a kubelet looks at, the first that is there and can be used:
/// <root-dir>/config.json, /config.json, ~/.docker/config.json, /.docker/config.json, then
/// .dockercfg in <root-dir>, / and ~. Its working directory is taken to be /.
class NodeCredentials {
 public:
  /// `home`: empty where there is none.
  NodeCredentials(fs::FileSystem& files, const std::string& root_dir, const std::string& home);
  /// Empty where there is none. `problems`: of files that are there and cannot be used.
  Keyring Read(std::vector<std::string>& problems) const;

 private:
  struct File {
    std::string path;
    Keyring::Shape shape;
  };
  fs::FileSystem& files_;
  std::vector<File> places_;
};

}  // namespace splitlet::pod_worker
