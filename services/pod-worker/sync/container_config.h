#pragma once

/// Prepares the creation of a container: its configuration, and the files of the attempt that the
/// configuration names.
/// In:      ContainerStarter, for one attempt after the other.
/// Owns:    nothing.
/// Out:     hosts file, termination log, log directory, bound subPaths.
/// Killed:  a second try meets the same files.
/// Threads: that of the sync; blocks on the disk, and for the user of an image on the runtime.
/// Errors:  with the text of the waiting message.
/// Source:  docs/behaviour/pod-sync.md, "Steps"; docs/behaviour/runtime-config.md.

#include <cstdint>
#include <map>
#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/runtime_config/container.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/sync/container_images.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace runtime::v1 {
class ContainerConfig;
}

namespace splitlet::pod_worker {

class ContainerConfigMaker {
 public:
  ContainerConfigMaker(const StartContext& context, const SyncOutcome& out)
      : context_(context), out_(out) {}

  Status Make(const kube::Container& container, const ContainerStart& start,
              const ContainerImageRefs& images, runtime::v1::ContainerConfig& config) const;

 private:
  StatusOr<ContainerFiles> MakeFiles(const kube::Container& container, uint32_t attempt,
                                     const ContainerImageRefs& images) const;
  StatusOr<std::string> WriteHostsFile() const;
  EnvFiles ReadEnvFiles(const kube::Container& container) const;
  StatusOr<std::map<int, std::string>> BindSubPaths(const kube::Container& container,
                                                    const EnvFiles& env_files) const;
  std::string MakeTerminationLog(const kube::Container& container, uint32_t attempt) const;
  Status CheckSeccompFile(const ContainerInput& input) const;
  Status SetTarget(const std::string& ephemeral, runtime::v1::ContainerConfig& config) const;
  PodAddresses Addresses() const { return {context_.ips, context_.input.host_ips}; }

  const StartContext& context_;
  const SyncOutcome& out_;
};

}  // namespace splitlet::pod_worker
