#pragma once

/// Checks the kubeconfig of this node, and writes it after a TLS bootstrap.
/// Threads: any; calls block on files.
/// Errors:  those of files; INVALID_ARGUMENT for a kubeconfig that cannot be used.
/// Source:  kubelet --bootstrap-kubeconfig.

#include <optional>
#include <string>

#include "libs/apiclient/kubeconfig.h"
#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/x509/authority.h"
#include "libs/x509/certificate.h"

namespace splitlet::status {

/// The client certificate of a kubeconfig.
struct KubeconfigState {
  Status usable;                      // OK: it exists, and no certificate of its chain has expired
  std::string certificate_file;       // empty: none, or inlined
  std::optional<x509::Pair> inlined;  // certificate and key in the kubeconfig itself
  std::optional<x509::Certificate> certificate;
};
/// `for_group`: processes of other users must be able to use it too, by their own checks.
KubeconfigState InspectKubeconfig(fs::FileSystem& files, const std::string& path, WallTime now,
                                  bool for_group);

struct KubeconfigWrite {
  std::string path;
  std::string bootstrap;    // kubeconfig with server and certificate authority
  std::string certificate;  // file with certificate and key
  uint32_t mode = 0600;
  bool for_group = false;  // processes of other users read it, and no file outside of its folder
};
/// Replaces the file in one step.
Status WriteKubeconfig(fs::FileSystem& files, const KubeconfigWrite& write);

}  // namespace splitlet::status
