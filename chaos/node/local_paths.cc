#include "chaos/node/local_paths.h"

#include <filesystem>
#include <sstream>

#include "chaos/node/text_files.h"

namespace splitlet::chaos {
namespace {

/// The argument of `flag` in the script that runit runs.
std::string FlagOf(const std::string& service, const std::string& flag) {
  std::istringstream words(ReadAll("sv/" + service + "/run"));
  std::string word;
  while (words >> word)
    if (word == flag && words >> word) return word;
  return {};
}

}  // namespace

StatusOr<LocalPaths> FindLocalPaths() {
  std::error_code error;
  LocalPaths paths;
  paths.top = std::filesystem::current_path(error).string();
  paths.manifests = FlagOf("config-source", "--manifests");
  paths.logs = FlagOf("pod-worker", "--log-dir");
  paths.run = FlagOf("pod-worker", "--run-dir");
  paths.state = FlagOf("pod-worker", "--state-dir");
  paths.root = FlagOf("pod-worker", "--root-dir");
  paths.endpoint = FlagOf("pod-worker", "--runtime-endpoint");
  paths.node_name = FlagOf("pod-worker", "--node-name");
  paths.api_control = FlagOf("api-server", "--control");
  paths.api_port = FlagOf("api-server", "--port");
  for (const auto& path : {paths.manifests, paths.logs, paths.run, paths.state, paths.root,
                           paths.endpoint, paths.node_name})
    if (path.empty())
      return FailedPrecondition(
          "sv/pod-worker/run lacks flags that deploy/local/run.sh writes: start the stack with "
          "make run");
  return paths;
}

std::string LocalPaths::containerd() const {
  return endpoint.starts_with("unix://" + top + "/containerd/") ? top + "/containerd"
                                                                : std::string();
}

std::string LocalPaths::ManifestPath(const std::string& pod) const {
  return manifests + "/chaos-" + pod + ".json";
}

}  // namespace splitlet::chaos
