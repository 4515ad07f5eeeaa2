#pragma once

/// The identity of this node: its client certificate and kubeconfig for the API server, and the
/// certificate that its HTTPS API is served with.
/// In:    kubeconfig and certificate folder, at the start; OnAddresses; certificates that its parts
///        save.
/// Owns:  the plan: whether the node must bootstrap. CertificateManager and SelfSigned own the
///        rest.
/// Out:   the kubeconfig; the files of CertificateStore and SelfSigned; on_client.
/// Killed at any line: the next start finds what was written, also the unsigned request, and
///        continues.
/// Threads: the loop's; files and calls use strands.
/// Errors: none leave it; Trouble() says what is missing.
/// Source: docs/design.md, "Identity at the API server"; kubelet certificate bootstrap.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "services/status/identity/certificate_manager.h"
#include "services/status/identity/kubeconfig_file.h"
#include "services/status/identity/metrics.h"
#include "services/status/identity/names.h"
#include "services/status/identity/self_signed.h"

namespace splitlet::status {

struct IdentityDeps {
  exec::Env env;
  fs::FileSystem& files;
  Random& random;
  apiclient::Transport* api = nullptr;        // of the kubeconfig; null: standalone
  apiclient::Transport* bootstrap = nullptr;  // of the bootstrap kubeconfig; null: none
};

struct IdentityOptions {
  std::string node_name;
  std::string kubeconfig, bootstrap_kubeconfig;  // paths; empty: none
  std::string cert_dir;
  bool rotate = false;            // rotateCertificates
  bool server_bootstrap = false;  // serverTLSBootstrap
  bool self_signed = false;       // the HTTPS API is enabled and has no other certificate
  bool for_group = false;         // processes run as users of their own; their group reads keys
};

/// How the node gets its client certificate at the start.
enum class ClientPlan {
  kUse,              // use the kubeconfig as it is
  kWriteKubeconfig,  // an earlier start saved the certificate and did not write the kubeconfig
  kBootstrap,        // request a certificate with the bootstrap kubeconfig
};
ClientPlan ChooseClientPlan(const IdentityOptions& options, const KubeconfigState& kubeconfig,
                            bool stored_is_usable);

class Identity {
 public:
  /// `on_client`: called once, when the kubeconfig can be used.
  Identity(IdentityDeps deps, IdentityOptions options, std::function<void()> on_client);
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;
  ~Identity();

  void Start();
  void BeginStop();
  /// The addresses of the node's status; called at each change.
  void OnAddresses(const std::vector<NodeAddress>& addresses);

  bool has_client() const { return has_client_; }
  /// Why the node cannot use the API server or serve its own API; empty: it can.
  std::string Trouble() const;
  /// Files of the certificate that the HTTPS API is served with; they may not exist yet.
  std::string serving_certificate_file() const;
  std::string serving_key_file() const;

 private:
  struct Found {
    KubeconfigState kubeconfig;
    StatusOr<std::optional<x509::Certificate>> client, server;
    bool replace_client = false;  // the certificate came with the kubeconfig
  };

  Found Inspect();
  void OnFound(const Found& found);
  bool HasManager(const Found& found, ClientPlan plan) const;
  void StartClient(const Found& found);
  void StartServer(const Found& found);
  apiclient::Transport* ClientTransport() const;
  void OnClientSaved();
  void FinishClient(bool write_config);
  void OnConfigWritten(const Status& written);
  void ShowTtl();
  CertificateManager::Deps ManagerDeps(std::function<apiclient::Transport*()> transport);
  CertificateStore::Options StoreOptions(const char* prefix) const;
  uint32_t KeyMode() const { return options_.for_group ? 0640 : 0600; }

  IdentityDeps deps_;
  const IdentityOptions options_;
  const std::string current_;  // link to the newest client certificate
  std::function<void()> on_client_;
  std::optional<ClientCertificateMetrics> client_metrics_;
  std::optional<ServerCertificateMetrics> server_metrics_;
  std::unique_ptr<CertificateManager> client_, server_;
  std::unique_ptr<SelfSigned> self_signed_;
  std::unique_ptr<exec::Periodic> show_;
  std::vector<NodeAddress> addresses_;
  bool has_client_ = false, write_config_ = false, stopped_ = false;
  std::string trouble_;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::status
