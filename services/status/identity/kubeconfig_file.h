#pragma once

/// The kubeconfig of this node: judged, and written when the node was let in by a bootstrap
/// kubeconfig.
/// Threads: any; calls block on files.
/// Errors:  those of files; INVALID_ARGUMENT of a kubeconfig that cannot be used.
/// Source:  kubelet --bootstrap-kubeconfig.

#include <optional>
#include <string>

#include "libs/apiclient/kubeconfig.h"
#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/x509/authority.h"
#include "libs/x509/certificate.h"

namespace splitlet::status {

/// What a kubeconfig has to show who the node is.
struct KubeconfigState {
  Status usable;  // it exists, and names a certificate none of whose chain has expired
  std::string certificate_file;       // empty: none, or within it
  std::optional<x509::Pair> inlined;  // certificate and key within it
  std::optional<x509::Certificate> certificate;
};
/// `for_group`: processes of other users have to be able to use it, as they judge it.
KubeconfigState InspectKubeconfig(fs::FileSystem& files, const std::string& path, WallTime now,
                                  bool for_group);

struct KubeconfigWrite {
  std::string path;
  std::string bootstrap;    // where server and authority come from
  std::string certificate;  // file of certificate and key
  uint32_t mode = 0600;
  bool for_group = false;  // of processes of other users, which read no file outside of its folder
};
/// Whole, in one step.
Status WriteKubeconfig(fs::FileSystem& files, const KubeconfigWrite& write);

}  // namespace splitlet::status
