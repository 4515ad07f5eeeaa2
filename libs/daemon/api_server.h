#pragma once

/// How a process speaks to the API server: which kubeconfig, under which name, in which form and
/// how fast. The same for all of them, by flags and KubeletConfiguration.
/// Threads: any; ConnectApi blocks on a file.
/// Errors:  those of apiclient::Connect.
/// Source:  docs/behaviour/api-client.md, "Who asks, and how fast"; kubelet
///          kubeClientConfigOverrides.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libs/apiclient/transport.h"
#include "libs/apiclient/wire.h"
#include "libs/daemon/service.h"

namespace splitlet::daemon {

/// "kubelet/v1.36.0 (linux/amd64) splitlet-status": servers and their audit logs know a node agent
/// by its first word.
std::string UserAgentOf(std::string_view process);

/// contentType.
apiclient::ContentType ApiContentOf(const config::KubeletConfig& config);

struct ApiRate {
  double qps = 0;
  int burst = 0;
};
/// What a client makes of a rate that the file sets to 0: no limit it is not.
ApiRate ApiRateOf(int32_t qps, int32_t burst);

/// The client certificate that status keeps in `cert_dir`: where rotateCertificates is set it is
/// shown instead of the kubeconfig's own. Empty: not set.
std::string RotatedCertificateOf(const config::KubeletConfig& config, const std::string& cert_dir);

struct ApiPurpose {
  std::string kubeconfig;  // empty: --kubeconfig
  bool limited = true;     // by kubeAPIQPS and kubeAPIBurst; else by its user, or not at all
};
/// A transport of its own for each purpose of a process. Without a kubeconfig: null.
StatusOr<std::unique_ptr<apiclient::Transport>> ConnectApi(ServiceContext& context,
                                                           ApiPurpose purpose = {});

}  // namespace splitlet::daemon
