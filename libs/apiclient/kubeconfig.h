#pragma once

/// Contents of a kubeconfig: the API server's address and CA, and the credentials of this node.
/// A file of another user may hold an address and credentials only. Fields that run a program or
/// read other files count only in a file that belongs to root or the process's user, and that no
/// other user can write.
/// Threads: values and pure functions; LoadKubeconfig blocks on a file.
/// Errors:  INVALID_ARGUMENT that names file, field and reason; never a secret of the file.
///          FAILED_PRECONDITION: a field that another user's file may not have.
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

/// PEM, or the path of a file with it, which is read again when it changes. Both empty: none.
struct Pem {
  std::string file, data;
  bool empty() const { return file.empty() && data.empty(); }
};

/// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;  // a path, or a name to search in PATH
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::string install_hint;
  bool provide_cluster_info = false;
  bool operator==(const ExecPlugin&) const = default;
};

struct ClientConfig {
  std::string server;           // "https://10.0.0.1:6443", without a slash at its end; also http://
  std::string tls_server_name;  // name in its certificate; empty: its host
  bool insecure = false;        // true: the certificate is not verified
  Pem ca;                       // empty: the system's CAs
  std::string proxy_url;        // empty: as in the environment
  bool compression = true;

  Pem certificate, key;
  std::string token, token_file;  // the file wins, and is read again now and then
  std::string user, password;
  std::optional<ExecPlugin> exec;
};

/// Why some fields of a file are ignored for a process of `user`; empty: all count.
std::string WhyNotTrusted(const fs::OwnedText& file, uint32_t user);

/// Reads the current context. Paths are relative to the folder of `file`. `why_not_trusted`: result
/// of WhyNotTrusted.
StatusOr<ClientConfig> ReadKubeconfig(std::string_view text, const std::string& file,
                                      const std::string& why_not_trusted = {});
/// `user`: the user of the reading process.
StatusOr<ClientConfig> LoadKubeconfig(fs::FileSystem& files, const std::string& file,
                                      uint32_t user);

}  // namespace splitlet::apiclient
