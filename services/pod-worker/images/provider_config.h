#pragma once

/// Which credential provider plugins the node has: what --image-credential-provider-config and
/// --image-credential-provider-bin-dir say.
/// Threads: values; ReadProviders blocks on files.
/// Errors:  INVALID_ARGUMENT that names file, field and reason.
/// Source:  docs/behaviour/images.md, "Credential provider plugins".

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/images/plugin_account.h"

namespace splitlet::pod_worker {

struct CredentialProvider {
  std::string name;
  std::vector<std::string> argv;              // argv[0]: the program's path
  std::map<std::string, std::string> env;     // over the process's own
  std::vector<std::string> match_images;      // as the keys of a Keyring
  std::string api_version;                    // that it speaks
  Duration keep{0};                           // its answers, unless they say how long
  std::optional<TokenAttributes> token = {};  // unset: it is told nothing of service accounts
};

bool IsFor(const CredentialProvider& provider, const std::string& repository);
/// An image of the pod may come with the token of its service account.
bool MayNeedAccount(const std::vector<CredentialProvider>& providers, const kube::Pod& pod);

/// `config`: a CredentialProviderConfig, or a folder of them (.json, .yaml, .yml), whose providers
/// follow each other by name of the file. Both empty: none.
StatusOr<std::vector<CredentialProvider>> ReadProviders(fs::FileSystem& files,
                                                        const std::string& config,
                                                        const std::string& bin_dir);

/// Of a node without the feature gate KubeletServiceAccountTokenForCredentialProviders:
/// INVALID_ARGUMENT when one has tokenAttributes.
Status CheckWithoutTokens(const std::vector<CredentialProvider>& providers);

}  // namespace splitlet::pod_worker
