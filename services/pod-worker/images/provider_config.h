#pragma once

/// The credential provider plugins of the node, from --image-credential-provider-config and
/// --image-credential-provider-bin-dir.
/// Threads: values; ReadProviders blocks on files.
/// Errors:  INVALID_ARGUMENT with file, field and reason.
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
  std::map<std::string, std::string> env;     // overrides pod-worker's own
  std::vector<std::string> match_images;      // like the keys of a Keyring
  std::string api_version;                    // of its requests and answers
  Duration keep{0};                           // for answers that do not say how long
  std::optional<TokenAttributes> token = {};  // unset: the plugin gets no service account
};

bool IsFor(const CredentialProvider& provider, const std::string& repository);
/// A plugin with tokenAttributes matches an image of the pod.
bool MayNeedAccount(const std::vector<CredentialProvider>& providers, const kube::Pod& pod);

/// `config`: a CredentialProviderConfig, or a folder of them (.json, .yaml, .yml), read in the
/// order of the file names. Both empty: none.
StatusOr<std::vector<CredentialProvider>> ReadProviders(fs::FileSystem& files,
                                                        const std::string& config,
                                                        const std::string& bin_dir);

/// For a node without the feature gate KubeletServiceAccountTokenForCredentialProviders:
/// INVALID_ARGUMENT when a provider has tokenAttributes.
Status CheckWithoutTokens(const std::vector<CredentialProvider>& providers);

}  // namespace splitlet::pod_worker
