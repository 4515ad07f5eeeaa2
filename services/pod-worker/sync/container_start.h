#pragma once

/// The part of a sync that brings containers up, one after the other in spec order.
/// Threads: that of the sync.
/// Errors:  the first is returned; each has its event and its waiting reason.
/// Source:  docs/behaviour/pod-sync.md, "Steps" and "Reasons and events".

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "libs/kube/ephemeral.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/runtime_config/isolation.h"
#include "services/pod-worker/sync/image_resolver.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace runtime::v1 {
class ContainerConfig;
class PodSandboxConfig;
}  // namespace runtime::v1

namespace splitlet::pod_worker {

/// Mode of a pod's log directory and of those of its containers in it.
inline constexpr uint32_t kLogDirMode = 0755;
/// Makes a directory for logs of a pod. A program with the logs mounted may have put a link in its
/// place: no link is followed.
Status MakeLogDir(fs::FileSystem& files, const NodeInfo& node, const std::string& path);

/// OK if it is gone.
Status RemoveContainer(cri::Remover& remover, const cri::ContainerId& id, Deadline deadline);

class ContainerStarter {
 public:
  struct Context {
    const SyncDeps& deps;
    const SyncInput& input;
    const kube::Pod& pod;
    PodEvents& events;
    const runtime::v1::PodSandboxConfig& sandbox_config;
    const std::map<std::string, std::string>& volumes;
    const std::string& pod_dir;
    std::string sandbox_id;
    std::vector<std::string> ips;  // of the sandbox
    Isolation isolation;
  };
  ContainerStarter(Context context, SyncOutcome& out)
      : context_(std::move(context)),
        ephemerals_(kube::EphemeralContainersOf(context_.pod.spec())),
        images_({context_.deps, context_.input, context_.pod, context_.events}, out),
        out_(out) {}

  /// A plain init container that does not come up, a sandbox that has died, or a container that has
  /// a postStart hook, which others wait for, ends the sync;
  /// anything else does not hold back the next.
  Status StartAll(const PodActions& todo);
  bool StartedSidecar() const { return started_sidecar_; }
  bool StartedAny() const { return started_any_; }

 private:
  /// What failed. Only a failure of the creation can come from a dead sandbox.
  enum class CreatePart { kConfig, kCreation };
  struct Created {
    StatusOr<cri::ContainerId> id;
    CreatePart part = CreatePart::kCreation;
  };
  static const char* ReasonOf(CreatePart part);
  enum class Result { kStarted, kHooked, kWaits, kFailed, kSandboxDied };
  Result StartOne(const ContainerStart& asked);
  bool BacksOff(const kube::Container& container, const ContainerStart& start);
  struct ImageRefs {
    std::string own;
    std::map<std::string, std::string> volumes;  // of image volumes, by name
  };
  Status StartEach(const PodActions& todo);
  static bool EndsSync(ContainerKind kind, Result result);
  bool EnsureVolumeImages(const std::string& container);
  void UseVolumeImages();
  void MarkVolumeImagesUsed();
  /// False: not now; noted why.
  bool ResolveImages(const kube::Container& container, ImageRefs& refs);
  /// A pod-worker before this one has made the container and has not seen it start; logs it.
  void LogIfMadeBefore(const ContainerStart& start) const;
  void WaitFor(const ImageFailure& failed, const std::string& container);
  Status SaveBackoff(const kube::Container& container, const ContainerStart& start);
  Status PrepareCreation(const kube::Container& container, const ContainerStart& start);
  Created Create(const kube::Container& container, const ContainerStart& start,
                 const ImageRefs& images);
  StatusOr<cri::ContainerId> CreateInRuntime(const runtime::v1::ContainerConfig& config,
                                             const std::string& hash);
  StatusOr<cri::ContainerId> FindCreated(const runtime::v1::ContainerConfig& config,
                                         const std::string& hash);
  Status FillConfig(const kube::Container& container, const ContainerStart& start,
                    const ImageRefs& images, runtime::v1::ContainerConfig& config);
  Status SetTarget(const std::string& ephemeral, runtime::v1::ContainerConfig& config) const;
  EnvFiles ReadEnvFiles(const kube::Container& container);
  StatusOr<std::map<int, std::string>> BindSubPaths(const kube::Container& container,
                                                    const EnvFiles& env_files);
  StatusOr<std::string> WriteHostsFile();
  std::string MakeTerminationLog(const kube::Container& container, uint32_t attempt);
  void SetNumbers(ContainerStart& start);
  uint32_t AttemptFromLogs(const std::string& container);
  Status RememberStart(const kube::Container& container, const ContainerStart& start);
  Status StartInRuntime(const cri::ContainerId& id);
  bool SandboxDied() const;
  Result LeaveDeadSandbox(const ContainerStart& start, const cri::ContainerId& id);
  void LinkLog(const std::string& container, const cri::ContainerId& id, uint32_t attempt);
  Result GiveUp(const Status& why);
  Result Fail(const ContainerStart& start, const std::string& reason, const Status& status,
              const std::string& id = {});
  PodIncarnation ThisPod() const {
    return {context_.pod.metadata().uid(), context_.input.incarnation};
  }
  PodAddresses Addresses() const { return {context_.ips, context_.input.host_ips}; }
  Deadline Soon() const { return After(context_.deps.clock, context_.deps.request_timeout); }
  /// For a call that is not begun any more once the pod ends.
  Deadline SoonUnlessEnding() const { return {Soon().at, context_.input.ending}; }
  const kube::Container* Find(const ContainerStart& start) const;

  Context context_;
  const std::vector<kube::Container> ephemerals_;
  ImageResolver images_;
  SyncOutcome& out_;
  Status first_error_;
  std::map<std::string, ImageResolver::Answer> volume_images_;  // by name, of those asked for
  std::set<std::string> used_for_volumes_;  // images whose pull a container of this sync has used
  std::optional<cri::Image> image_;  // of the container that is being started, where it was asked
  bool started_sidecar_ = false, started_any_ = false;
};

}  // namespace splitlet::pod_worker
