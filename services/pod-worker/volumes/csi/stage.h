#pragma once

/// Stages a volume on the node, once for all its pods, or unstages it.
/// In:      the volume; answers of its driver and the API server.
/// Out:     the staging directory with vol_data.json; NodeStageVolume, NodeUnstageVolume.
/// Killed:  vol_data.json is there before the driver is called, and goes after it has answered; the
///          next start stages or unstages again.
/// Errors:  kMountDevice, with the kubelet's texts and the class of the error.
/// Threads: the loop's; files on a strand.
/// Source:  kubelet csi_attacher MountDevice, UnmountDevice.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/csi/mount_state.h"
#include "libs/csi/volume.h"
#include "services/pod-worker/volumes/csi/csi_deps.h"
#include "services/pod-worker/volumes/csi/operation.h"

namespace splitlet::pod_worker {

/// The state of a mount when an operation began.
struct StateBefore {
  csi::MountState state = csi::MountState::kNotMounted;
  csi::Origin origin = csi::Origin::kMountedByUs;
};

class StageVolume final : public Operation {
 public:
  struct Input {
    csi::Volume volume;
    csi::StringMap publish_context;
    std::optional<int64_t> fs_group;
    StateBefore before;
  };
  StageVolume(const CsiDeps& deps, Input input, Host host)
      : Operation(std::move(host)),
        deps_(deps),
        in_(std::move(input)),
        deadline_(After(deps.env.clock, kCsiLimit)) {}
  std::optional<Outcome> Advance() override;

 private:
  std::optional<Outcome> Prepare();
  std::optional<Outcome> End(Outcome outcome);

  const CsiDeps& deps_;
  const Input in_;
  const Deadline deadline_;
  std::shared_ptr<csi::DriverCalls> driver_;
  Question<csi::Answer<csi::NodeCapabilities>> capabilities_;
  Question<StatusOr<ObjectPtr<Secret>>> secret_;
  Question<Status> prepared_, removed_;
  Question<csi::Answer<csi::Nothing>> stage_;
  csi::StringMap secrets_;
};

class UnstageVolume final : public Operation {
 public:
  /// `driver`: of the volume; the handle comes from vol_data.json.
  UnstageVolume(const CsiDeps& deps, std::string driver, std::string staging_dir, Host host)
      : Operation(std::move(host)),
        deps_(deps),
        name_(std::move(driver)),
        directory_(std::move(staging_dir)),
        deadline_(After(deps.env.clock, kCsiLimit)) {}
  std::optional<Outcome> Advance() override;

 private:
  std::optional<Outcome> Remove();

  const CsiDeps& deps_;
  const std::string name_, directory_;
  const Deadline deadline_;
  std::shared_ptr<csi::DriverCalls> driver_;
  Question<StatusOr<std::optional<csi::VolumeData>>> data_;
  Question<csi::Answer<csi::NodeCapabilities>> capabilities_;
  Question<csi::Answer<csi::Nothing>> unstage_;
  Question<Status> removed_;
};

}  // namespace splitlet::pod_worker
