#include "services/status/identity/kubeconfig_file.h"

#include <unistd.h>

#include <algorithm>

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/kube/encode.h"
#include "services/status/identity/pem_files.h"
#include "services/status/identity/rotation.h"
#include "splitlet/v1/kubeconfig.pb.h"

namespace splitlet::status {
namespace {

StatusOr<std::string> TextOf(fs::FileSystem& files, const apiclient::Pem& pem) {
  if (pem.file.empty()) return pem.data;
  return Annotate(files.Read(pem.file, kMaxPemFile), pem.file);
}

/// Check ownership as a process of root does, which does not trust a file of this process's user.
constexpr uint32_t kRoot = 0;

struct Checked {
  fs::FileSystem& files;
  const std::string& path;
  WallTime now;
  bool for_group;
};

Status Check(const Checked& in, KubeconfigState& out) {
  const auto& [files, path, now, for_group] = in;
  const auto config = apiclient::LoadKubeconfig(files, path, for_group ? kRoot : ::geteuid());
  if (!config.ok()) return config.status();
  if (config->certificate.empty())
    return FailedPrecondition("{} names no client certificate", path);
  out.certificate_file = config->certificate.file;
  ASSIGN_OR_RETURN(const std::string chain, TextOf(files, config->certificate), "{}", path);
  ASSIGN_OR_RETURN(const std::string key, TextOf(files, config->key), "{}", path);
  ASSIGN_OR_RETURN(out.certificate, x509::CheckPair(chain, key), "{}", path);
  if (config->certificate.file.empty() && config->key.file.empty()) out.inlined = {chain, key};
  const auto all = x509::ReadCertificates(chain);
  if (!all.ok()) return Annotate(all.status(), path);
  const bool expired = std::ranges::any_of(
      *all, [&in](const x509::Certificate& one) { return IsExpired(one, in.now); });
  if (expired) return FailedPrecondition("the certificate of {} has expired", path);
  return OkStatus();
}

}  // namespace

KubeconfigState InspectKubeconfig(fs::FileSystem& files, const std::string& path, WallTime now,
                                  bool for_group) {
  KubeconfigState state;
  state.usable = Check({.files = files, .path = path, .now = now, .for_group = for_group}, state);
  return state;
}

Status WriteKubeconfig(fs::FileSystem& files, const KubeconfigWrite& write) {
  ASSIGN_OR_RETURN(const apiclient::ClientConfig from,
                   apiclient::LoadKubeconfig(files, write.bootstrap, ::geteuid()),
                   "bootstrap kubeconfig");
  if (write.for_group && !write.certificate.starts_with(fs::ParentOf(write.path) + "/"))
    return FailedPrecondition(
        "{} is outside of the folder of {}, and processes of other users read only files in that "
        "folder; put --kubeconfig beside or above --cert-dir",
        write.certificate, write.path);
  v1::KubeConfig config;
  auto& named = *config.add_clusters();
  named.set_name("default-cluster");
  auto& cluster = *named.mutable_cluster();
  cluster.set_server(from.server);
  cluster.set_tls_server_name(from.tls_server_name);
  cluster.set_insecure_skip_tls_verify(from.insecure);
  if (write.for_group) {
    ASSIGN_OR_RETURN(*cluster.mutable_certificate_authority_data(), TextOf(files, from.ca),
                     "bootstrap kubeconfig: certificate-authority");
  } else {
    cluster.set_certificate_authority(from.ca.file);
    cluster.set_certificate_authority_data(from.ca.data);
  }
  cluster.set_proxy_url(from.proxy_url);
  cluster.set_disable_compression(!from.compression);
  auto& user = *config.add_users();
  user.set_name("default-auth");
  user.mutable_user()->set_client_certificate(write.certificate);
  user.mutable_user()->set_client_key(write.certificate);
  auto& context = *config.add_contexts();
  context.set_name("default-context");
  context.mutable_context()->set_cluster(named.name());
  context.mutable_context()->set_user(user.name());
  context.mutable_context()->set_namespace_("default");
  config.set_current_context(context.name());
  FAIL_POINT("status.write-kubeconfig.before");
  RETURN_IF_ERROR(
      files.Replace(write.path, kube::ToYaml(config, {.api_version = "v1", .kind = "Config"}),
                    {.fsync = true, .mode = write.mode}),
      "write {}", write.path);
  FAIL_POINT("status.write-kubeconfig.after");
  return OkStatus();
}

}  // namespace splitlet::status
