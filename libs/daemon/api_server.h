#pragma once

/// Connections of a process to the API server: kubeconfig, user agent, encoding and rate. All
/// processes take them from flags and KubeletConfiguration.
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

/// "kubelet/v1.36.0 (linux/amd64) splitlet-status": servers and audit logs recognise a node agent
/// by its first word.
std::string UserAgentOf(std::string_view process);

/// contentType.
apiclient::ContentType ApiContentOf(const config::KubeletConfig& config);

struct ApiRate {
  double qps = 0;
  int burst = 0;
};
/// A client's meaning of a rate 0 in the file: the default, not unlimited.
ApiRate ApiRateOf(int32_t qps, int32_t burst);

/// The client certificate that status keeps in `cert_dir`, which replaces the kubeconfig's if
/// rotateCertificates is set. Empty: not set.
std::string RotatedCertificateOf(const config::KubeletConfig& config, const std::string& cert_dir);

struct ApiPurpose {
  std::string kubeconfig;  // empty: --kubeconfig
  bool limited =
      true;  // by kubeAPIQPS and kubeAPIBurst; false: the caller limits itself, or nothing does
};
/// An own transport for each purpose of a process. Null without a kubeconfig.
StatusOr<std::unique_ptr<apiclient::Transport>> ConnectApi(ServiceContext& context,
                                                           ApiPurpose purpose = {});

}  // namespace splitlet::daemon
