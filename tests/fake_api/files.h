#pragma once

/// What fake-api leaves in its folder for those who use it: authority, keys, kubeconfigs.
/// Threads: one.
/// Errors:  a file that cannot be written or read is one.
/// Source:  Kubernetes API, "Organizing Cluster Access Using kubeconfig Files".

#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/fake_api/authority.h"

namespace splitlet::fake_api {

/// The token of bootstrap.kubeconfig.
inline constexpr const char* kBootstrapToken = "abcdef.0123456789abcdef";

/// The one of the folder; made when there is none.
StatusOr<std::unique_ptr<FakeAuthority>> LoadOrMakeAuthority(const std::string& dir, WallTime now);

struct FilesOptions {
  std::string dir, url, node;
};
/// admin.kubeconfig, node.kubeconfig, bootstrap.kubeconfig, each complete in itself.
Status WriteKubeconfigs(const FakeAuthority& authority, const FilesOptions& options, WallTime now);

}  // namespace splitlet::fake_api
