#pragma once

/// Files of fake-api for its users: authority, keys, kubeconfigs.
/// Threads: one.
/// Errors:  of the file system.
/// Source:  Kubernetes API, "Organizing Cluster Access Using kubeconfig Files".

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/fake_api/authority.h"

namespace splitlet::fake_api {

/// The token of bootstrap.kubeconfig.
inline constexpr const char* kBootstrapToken = "abcdef.0123456789abcdef";

/// The authority in the folder; created if there is none.
StatusOr<std::unique_ptr<FakeAuthority>> LoadOrMakeAuthority(const std::string& dir, WallTime now);

struct FilesOptions {
  std::string dir, url, node;
};
/// Writes admin.kubeconfig, node.kubeconfig and bootstrap.kubeconfig, each self-contained.
Status WriteKubeconfigs(const FakeAuthority& authority, const FilesOptions& options, WallTime now);

}  // namespace splitlet::fake_api
