#pragma once

/// The credentials for an image: from the pull secrets of its pod, then from the docker
/// configuration of the node.
/// Threads: any; NodeCredentials blocks on files.
/// Errors:  name the secret or file and the reason, and never quote its content.
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
  std::vector<std::string> missing;  // names of secrets that cannot be read
};

/// `objects`: null: this node has none. A secret that cannot be parsed is an error for all.
StatusOr<PullSecrets> PullSecretsOf(const kube::Pod& pod, const ObjectSource* objects);

/// Unset: the pod has no service account, or the account is not known.
std::optional<AccountRef> AccountOf(const kube::Pod& pod, const ObjectSource* objects);

/// The first usable file of those that a kubelet reads: <root-dir>/config.json, /config.json,
/// ~/.docker/config.json, /.docker/config.json, then .dockercfg in <root-dir>, / and ~. The working
/// directory counts as /.
class NodeCredentials {
 public:
  /// `home`: empty: none.
  NodeCredentials(fs::FileSystem& files, const std::string& root_dir, const std::string& home);
  /// Empty: there is no such file. `problems`: for each file that exists and cannot be used.
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
