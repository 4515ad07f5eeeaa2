#pragma once

/// Credentials and address for requests to the API server: a kubeconfig and all files that it
/// names.
/// Threads: values; AccessReader blocks on files and on a plugin, and belongs to one thread.
/// Errors:  UNAVAILABLE: the kubeconfig is missing or malformed, or one of its files is unreadable;
///          marked as awaited (status.h) while a TLS bootstrap makes the kubeconfig;
///          UNAUTHENTICATED: the plugin gives no credentials. No error shows a secret.
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

/// Immutable.
struct ServerAccess {
  std::string server;           // "https://10.0.0.1:6443/prefix"
  std::string host;             // host and port of `server`
  std::string tls_server_name;  // empty: the host of `server`
  bool insecure = false;
  bool compression = true;
  std::string proxy_url;
  std::string ca, certificate, key;  // PEM; without a CA the system's CAs count
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
    /// Within this time from now on, a missing kubeconfig counts as being created.
    Duration made_within{0};
  };
  /// `rotated`: a file whose certificate and key replace those of the kubeconfig while they are
  /// valid, if the kubeconfig has some; empty: none.
  AccessReader(Deps deps, std::string kubeconfig, std::string rotated)
      : deps_(std::move(deps)),
        kubeconfig_(std::move(kubeconfig)),
        rotated_(std::move(rotated)),
        made_by_(deps_.clock.Now() + deps_.made_within),
        plugin_({deps_.clock, deps_.run, deps_.plugin_metrics}) {}

  /// The present access; the same object while nothing has changed. `refused`: the access that the
  /// server refused; a plugin runs again if the refused credentials are its own.
  StatusOr<std::shared_ptr<const ServerAccess>> Read(const ServerAccess* refused);
  /// Ends a running plugin and all later ones. From any thread.
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
  std::string text_, why_not_trusted_;  // state at the last read
  std::optional<ClientConfig> config_;
  std::string rotated_text_;  // as last read
  WallTime rotated_until_;    // end of its validity; in the past for an invalid pair
  std::shared_ptr<const ServerAccess> last_;
  PluginCredentials plugin_;
};

/// "Basic dXNlcjpwYXNz"
std::string BasicAuthorization(const std::string& user, const std::string& password);

}  // namespace splitlet::apiclient
