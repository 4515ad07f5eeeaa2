#pragma once

/// What a kubeconfig says of the API server: where it is, whom it trusts, and how this node shows
/// who it is.
/// Another user's file may say where the server is and hold its credentials, and no more: what
/// makes this process run a program or read files elsewhere counts in a file of root's, or of the
/// process's own user, that nobody else can write.
/// Threads: values and pure functions; LoadKubeconfig blocks on a file.
/// Errors:  INVALID_ARGUMENT that names file, field and reason; never a secret of the file.
///          FAILED_PRECONDITION, likewise, for a field that another user's file may not have.
/// Source:  kubelet --kubeconfig; client-go clientcmd; docs/behaviour/api-client.md, "Credentials".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::apiclient {

/// PEM, or the file that has it, which is read anew when it changes. Both empty: none.
struct Pem {
  std::string file, data;
  bool empty() const { return file.empty() && data.empty(); }
};

/// A program that says the credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;  // a path, or looked for in PATH
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::string install_hint;
  bool provide_cluster_info = false;
  bool operator==(const ExecPlugin&) const = default;
};

struct ClientConfig {
  std::string server;           // "https://10.0.0.1:6443", without a slash at its end; also http://
  std::string tls_server_name;  // that its certificate has to be for; empty: its host
  bool insecure = false;        // its certificate is not verified
  Pem ca;                       // empty: those of the system
  std::string proxy_url;        // empty: as the environment says
  bool compression = true;

  Pem certificate, key;
  std::string token, token_file;  // the file wins, and is read anew now and then
  std::string user, password;
  std::optional<ExecPlugin> exec;
};

/// Why not every field of a file counts for the process of `user`; empty: every one does.
std::string WhyNotTrusted(const fs::OwnedText& file, uint32_t user);

/// Of the current context. Paths in it count from the folder of `file`. `why_not_trusted`: as
/// above.
StatusOr<ClientConfig> ReadKubeconfig(std::string_view text, const std::string& file,
                                      const std::string& why_not_trusted = {});
/// `user`: whose process reads it.
StatusOr<ClientConfig> LoadKubeconfig(fs::FileSystem& files, const std::string& file,
                                      uint32_t user);

}  // namespace splitlet::apiclient
