#pragma once

/// What a request to the API server is made with: a kubeconfig and all files that it names, read.
/// Threads: values; AccessReader blocks on files and on a plugin, and is one thread's.
/// Errors:  UNAVAILABLE while there is no kubeconfig, it is bad, or a file of it cannot be read;
///          marked as awaited (status.h) while a TLS bootstrap is making the kubeconfig;
///          UNAUTHENTICATED when its plugin gives nothing. No secret stands in any.
/// Source:  docs/behaviour/api-client.md, "Credentials"; client-go rest.TLSConfigFor.

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/apiclient/exec_plugin.h"
#include "libs/apiclient/kubeconfig.h"

namespace splitlet::apiclient {

/// Never changes once it is made.
struct ServerAccess {
  std::string server;           // "https://10.0.0.1:6443/prefix"
  std::string host;             // of it, with its port
  std::string tls_server_name;  // empty: its host
  bool insecure = false;
  bool compression = true;
  std::string proxy_url;
  std::string ca, certificate, key;  // PEM; no CA: those of the system
  std::string authorization;         // value of the header; empty: none

  bool operator==(const ServerAccess&) const = default;
};

class AccessReader {
 public:
  struct Deps {
    const Clock& clock;
    fs::FileSystem& files;
    process::ProgramRunner run;
    std::shared_ptr<PluginMetrics> plugin_metrics = nullptr;  // null: none
    uint32_t user = ::geteuid();                              // of this process
    /// For how long from now on a kubeconfig that is missing is being made.
    Duration made_within{0};
  };
  /// `rotated`: a file with certificate and key that take the place of those of the kubeconfig, if
  /// it has some, while they are good; empty: none.
  AccessReader(Deps deps, std::string kubeconfig, std::string rotated)
      : deps_(std::move(deps)),
        kubeconfig_(std::move(kubeconfig)),
        rotated_(std::move(rotated)),
        made_by_(deps_.clock.Now() + deps_.made_within),
        plugin_({deps_.clock, deps_.run, deps_.plugin_metrics}) {}

  /// As it is now. The same object while nothing has changed. `refused`: what the server did not
  /// take; a plugin is asked again when it is its.
  StatusOr<std::shared_ptr<const ServerAccess>> Read(const ServerAccess* refused);
  /// Ends a plugin that runs, and those that would run later. From any thread.
  void GiveUp() { plugin_.GiveUp(); }

 private:
  StatusOr<const ClientConfig*> ReadConfig();
  StatusOr<std::string> ReadPem(const Pem& pem);
  bool UseRotated(ServerAccess& access);
  StatusOr<ServerAccess> Make(const ClientConfig& config, const ServerAccess* refused);
  Status AddCredentials(const ClientConfig& config, const ServerAccess* refused,
                        ServerAccess& access);

  const Deps deps_;
  const std::string kubeconfig_, rotated_;
  const Clock::Time made_by_;
  std::string text_, why_not_trusted_;  // that was read last
  std::optional<ClientConfig> config_;
  std::string rotated_text_;  // that was read last
  WallTime rotated_until_;    // it is good; in the past for what is no pair
  std::shared_ptr<const ServerAccess> last_;
  PluginCredentials plugin_;
};

/// "Basic dXNlcjpwYXNz"
std::string BasicAuthorization(const std::string& user, const std::string& password);

}  // namespace splitlet::apiclient
